import { Link } from "../../../components/Link";
import { StatusIcon } from "../../../components/StatusIcon";
import { cx } from "../../../core/cx";
import { formatRoughAge, type Row, resultAgeMs } from "../../../core/hosts/fleet";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { FleetHost } from "../api";
import classes from "../Fleet.module.css";

interface HostNameProps {
  host: FleetHost;
  now: string;
  staleMs: number;
  chosen: boolean;
  onToggle: (host: FleetHost) => void;
  dense: boolean;
}

/** Row heading of a host: a checkbox, its name, and the age of its newest run. */
export function HostName({ host, now, staleMs, chosen, onToggle, dense }: HostNameProps) {
  const { t } = useTranslation();
  const age = resultAgeMs(host, undefined, now);
  const checked = age === undefined ? t("fleet.never") : t("fleet.checked", { age: formatRoughAge(age) });
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
          <span
            className={cx(classes.checked, age !== undefined && age > staleMs && classes.stale)}
            title={checked}
          >
            {checked}
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

/** Heading of a group: its label, its number of hosts, and how many of them are critical. */
export function GroupName<H extends FleetHost>({ label, row, chosen, onChoose }: GroupNameProps<H>) {
  const { t } = useTranslation();
  const bad = row.hosts.filter((host) => host.worst === "critical").length;
  const ids = row.hosts.map((host) => host.id);
  const all = ids.every((item) => chosen.has(item));
  const title = row.value === null ? t("fleet.without", { label }) : `${label}=${row.value}`;
  return (
    <>
      <input
        type="checkbox"
        tabIndex={-1}
        className={classes.check}
        checked={all}
        onChange={() =>
          onChoose(
            all ? [...chosen].filter((item) => !ids.includes(item)) : [...new Set([...chosen, ...ids])],
          )
        }
        aria-label={t("fleet.chooseGroup", { group: title })}
      />
      <strong>{title}</strong>
      <span className={classes.members}>{t("hosts.count", { count: row.hosts.length })}</span>
      {bad > 0 && <StatusIcon tone="bad">{t("fleet.critical", { count: bad })}</StatusIcon>}
    </>
  );
}
