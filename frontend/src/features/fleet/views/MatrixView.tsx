import { useMediaQuery } from "@mantine/hooks";
import { useCallback, useMemo, useState } from "react";
import type { FleetFindings } from "../../../client/models";
import { EmptyState } from "../../../components/EmptyState";
import {
  VirtualTable,
  type VirtualTableCell,
  type VirtualTableColumn,
} from "../../../components/tables/VirtualTable";
import { cx } from "../../../core/cx";
import { ageMs, type Commonness, cellState, commonness, rowsOf } from "../../../core/hosts/fleet";
import { percent } from "../../../core/text/format";
import { useLocalized } from "../../../lib/text/i18n";
import { useTranslation } from "../../../lib/text/useTranslation";
import { useUrlState } from "../../../lib/urlState";
import type { FleetFindingsHost } from "../api";
import { CellDetails } from "../cells/CellDetails";
import { CellIcon } from "../cells/CellIcon";
import { ruleResult } from "../cells/ruleResult";
import { useCellText } from "../cells/useCellText";
import classes from "../Fleet.module.css";
import { FIELDS } from "../fields";
import { SortStatus } from "../SortStatus";
import { useStableOrder } from "../useStableOrder";
import { GroupName, HostName } from "./Names";

/** Minimum distinction between bad and other hosts for a finding that is listed above the matrix. */
const MIN_SHARE = 0.25;
const MAX_DISTINGUISHING = 6;
const WIDTH = 40;

interface Props {
  fleet: FleetFindings;
  hosts: readonly FleetFindingsHost[];
  chosen: ReadonlySet<string>;
  onChoose: (ids: readonly string[]) => void;
  onOpen: (host: string, column: string) => void;
  onHost: (host: string) => void;
}

/** Matrix of hosts × findings, with the findings that the bad hosts have in common. */
export function MatrixView({ fleet, hosts, chosen, onChoose, onOpen, onHost }: Props) {
  const { t } = useTranslation();
  const pick = useLocalized();
  const cellText = useCellText();
  const [state] = useUrlState(FIELDS);
  const narrow = useMediaQuery("(max-width: 640px)");
  const [at, setAt] = useState({ row: state.label ? 1 : 0, column: 1 });
  const order = useStableOrder(hosts, [state.sort, state.label, state.q, state.has].join("\n"));
  const rows = useMemo(() => rowsOf(order.rows, state.label), [order.rows, state.label]);
  const byHand = hosts.some((host) => chosen.has(host.id));
  const bad = useMemo(
    () =>
      new Set(
        hosts
          .filter((host) => (byHand ? chosen.has(host.id) : host.worst === "critical"))
          .map((host) => host.id),
      ),
    [hosts, chosen, byHand],
  );
  const common = useMemo(() => commonness(hosts, bad), [hosts, bad]);
  const { rules, at: now } = fleet;
  const title = useCallback((rule: string) => pick(rules[rule]?.title) || rule, [rules, pick]);
  const columns = useMemo(
    () =>
      common.map(
        (commonness): VirtualTableColumn => ({
          id: commonness.rule,
          width: WIDTH,
          name: t("fleet.common", sidesOf(commonness, title(commonness.rule))),
          head: (
            <>
              <span className={classes.upright}>{title(commonness.rule)}</span>
              <span className={cx(classes.share, "num")}>{shareOf(commonness.bad)}</span>
              <span className={cx(classes.share, "num", "dim")}>{shareOf(commonness.good)}</span>
            </>
          ),
        }),
      ),
    [common, t, title],
  );
  const staleMs = Number(state.fresh) * 1000;
  const cell = useCallback(
    (host: FleetFindingsHost, rule: string): VirtualTableCell => {
      const finding = ruleResult(host, rule);
      const look = cellState(finding);
      const age = finding?.state === "matched" ? ageMs(host, finding, now) : undefined;
      const words = finding
        ? cellText(finding, rules[rule], age)
        : `${t("fleet.state.absent")} · ${title(rule)}`;
      const stale = age !== undefined && age > staleMs;
      return { look, stale, words, content: finding && <CellIcon state={look} /> };
    },
    [rules, now, staleMs, cellText, t, title],
  );
  const toggle = useCallback(
    (host: { id: string }) =>
      onChoose(chosen.has(host.id) ? [...chosen].filter((item) => item !== host.id) : [...chosen, host.id]),
    [chosen, onChoose],
  );
  const name = useCallback(
    (host: FleetFindingsHost) => (
      <HostName
        host={host}
        now={now}
        staleMs={staleMs}
        chosen={chosen.has(host.id)}
        onToggle={toggle}
        dense
      />
    ),
    [now, staleMs, chosen, toggle],
  );
  const open = useCallback(
    (host: FleetFindingsHost, rule: string | undefined) => (rule ? onOpen(host.id, rule) : onHost(host.id)),
    [onOpen, onHost],
  );
  if (common.length === 0)
    return <EmptyState title={t("fleet.noMatches")}>{t("fleet.noMatchesText")}</EmptyState>;
  const row = rows[Math.min(at.row, rows.length - 1)];
  const host = row?.kind === "host" ? row.host : undefined;
  const rule = columns[at.column - 1]?.id;
  return (
    <div className={cx(classes.grid, classes.matrix)}>
      <DistinguishingFindings common={common} bad={bad.size} byHand={byHand} title={title} />
      <SortStatus
        stale={order.stale}
        onRenew={order.renew}
        visible={hosts.length}
        total={fleet.hosts.length}
      />
      <VirtualTable
        label={t("fleet.views.findings")}
        rows={rows}
        columns={columns}
        rowHeight={24}
        nameWidth={narrow ? 136 : 190}
        nameHead={
          <span className={classes.corner}>{t(byHand ? "fleet.sidesChosen" : "fleet.sidesCritical")}</span>
        }
        group={(item) => <GroupName label={state.label} row={item} chosen={chosen} onChoose={onChoose} />}
        name={name}
        cell={cell}
        cellClass={classes.cell}
        chosen={chosen}
        at={at}
        onAt={setAt}
        onOpen={open}
        onChoose={toggle}
      />
      <CellDetails
        host={host?.name}
        column={rule && title(rule)}
        text={host && rule ? cell(host, rule).words : undefined}
      />
    </div>
  );
}

const shareOf = ([matched, evaluated]: readonly [number, number]) =>
  evaluated === 0 ? "–" : percent(matched / evaluated);

const sidesOf = ({ bad, good }: Commonness, title: string) => ({
  title,
  bad: bad[0],
  ofBad: bad[1],
  good: good[0],
  ofGood: good[1],
});

interface DistinguishingFindingsProps {
  common: readonly Commonness[];
  bad: number;
  byHand: boolean;
  title: (rule: string) => string;
}

/** The findings of the bad hosts that the others do not have, with counts. */
function DistinguishingFindings({ common, bad, byHand, title }: DistinguishingFindingsProps) {
  const { t } = useTranslation();
  const distinguishing = common
    .filter((commonness) => commonness.distinction >= MIN_SHARE)
    .slice(0, MAX_DISTINGUISHING);
  return (
    <section className={classes.distinguishing} aria-label={t("fleet.distinguishing")}>
      <h2>{t(byHand ? "fleet.distinguishingChosen" : "fleet.distinguishingCritical", { count: bad })}</h2>
      {distinguishing.length === 0 ? (
        <p className="dim">{t("fleet.distinguishingNone")}</p>
      ) : (
        <ol>
          {distinguishing.map((commonness) => (
            <li key={commonness.rule}>
              <span className={classes.both} aria-hidden>
                <span
                  style={{ width: `${(100 * commonness.bad[0]) / (commonness.bad[1] || 1)}%` }}
                  data-side="bad"
                />
                <span
                  style={{ width: `${(100 * commonness.good[0]) / (commonness.good[1] || 1)}%` }}
                  data-side="good"
                />
              </span>
              <span>{t("fleet.common", sidesOf(commonness, title(commonness.rule)))}</span>
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}
