import { useTranslation } from "react-i18next";
import type { FleetHost } from "../../client/types";
import { Link } from "../../components/Link";
import { Mark } from "../../components/Mark";
import { cx } from "../../core/cx";
import { ageMs, type Row, roughAge } from "../../core/fleet";
import classes from "./Fleet.module.css";

interface HostNameProps {
  host: FleetHost;
  now: string;
  staleMs: number;
  chosen: boolean;
  onToggle: (host: FleetHost) => void;
  dense: boolean;
}

/** A host in its row: to be chosen, its name, and how old its newest look is. */
export function HostName({ host, now, staleMs, chosen, onToggle, dense }: HostNameProps) {
  const { t } = useTranslation();
  const age = ageMs(host, undefined, now);
  return (
    <>
      <input
        type="checkbox"
        tabIndex={-1}
        className={classes.check}
        checked={chosen}
        onChange={() => onToggle(host)}
        aria-label={t("hosts.choose", { name: host.name })}
      />
      <span className={classes.hostName}>
        <Link
          to="/hosts/$hostId"
          params={{ hostId: host.id }}
          tabIndex={-1}
          underline="hover"
          title={host.name}
        >
          {host.name}
        </Link>
        {!dense && (
          <span className={cx(classes.seen, age !== undefined && age > staleMs && classes.old)}>
            {age === undefined ? t("fleet.never") : t("fleet.seen", { age: roughAge(age) })}
          </span>
        )}
      </span>
    </>
  );
}

interface GroupNameProps<H extends FleetHost> {
  label: string;
  row: Extract<Row<H>, { kind: "group" }>;
  chosen: ReadonlySet<string>;
  onChoose: (ids: readonly string[]) => void;
}

/** The heading of a group: its label, how many hosts, how many of them are in trouble. */
export function GroupName<H extends FleetHost>({ label, row, chosen, onChoose }: GroupNameProps<H>) {
  const { t } = useTranslation();
  const bad = row.hosts.filter((one) => one.worst === "critical").length;
  const ids = row.hosts.map((one) => one.id);
  const all = ids.every((one) => chosen.has(one));
  const title = row.value === null ? t("fleet.without", { label }) : `${label}=${row.value}`;
  return (
    <>
      <input
        type="checkbox"
        tabIndex={-1}
        className={classes.check}
        checked={all}
        onChange={() =>
          onChoose(all ? [...chosen].filter((one) => !ids.includes(one)) : [...new Set([...chosen, ...ids])])
        }
        aria-label={t("fleet.chooseGroup", { group: title })}
      />
      <strong>{title}</strong>
      <span className={classes.members}>{t("hosts.count", { count: row.hosts.length })}</span>
      {bad > 0 && <Mark tone="bad">{t("fleet.critical", { count: bad })}</Mark>}
    </>
  );
}
