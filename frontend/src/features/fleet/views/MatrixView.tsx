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
import {
  cellState,
  groupHostRows,
  type RuleDistinction,
  rankDistinctiveRules,
  resultAgeMs,
} from "../../../core/hosts/fleet";
import { formatPercent } from "../../../core/text/format";
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
  const localize = useLocalized();
  const cellText = useCellText();
  const [state] = useUrlState(FIELDS);
  const narrow = useMediaQuery("(max-width: 640px)");
  const [at, setAt] = useState({ row: state.label ? 1 : 0, column: 1 });
  const order = useStableOrder(hosts, [state.sort, state.label, state.q, state.has].join("\n"));
  const rows = useMemo(() => groupHostRows(order.rows, state.label), [order.rows, state.label]);
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
  const common = useMemo(() => rankDistinctiveRules(hosts, bad), [hosts, bad]);
  const { rules, at: now } = fleet;
  const title = useCallback((rule: string) => localize(rules[rule]?.title) || rule, [rules, localize]);
  const columns = useMemo(
    () =>
      common.map(
        (item): VirtualTableColumn => ({
          id: item.rule,
          width: WIDTH,
          name: t("fleet.common", toShareTexts(item, title(item.rule))),
          head: (
            <>
              <span className={classes.verticalTitle}>{title(item.rule)}</span>
              <span className={cx(classes.share, "num")}>{formatShare(item.bad)}</span>
              <span className={cx(classes.share, "num", "dim")}>{formatShare(item.good)}</span>
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
      const age = finding?.state === "matched" ? resultAgeMs(host, finding, now) : undefined;
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
      <DistinguishingFindings common={common} bad={bad.size} hasSelection={byHand} title={title} />
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

const formatShare = ([matched, evaluated]: readonly [number, number]) =>
  evaluated === 0 ? "–" : formatPercent(matched / evaluated);

const toShareTexts = ({ bad, good }: RuleDistinction, title: string) => ({
  title,
  bad: bad[0],
  ofBad: bad[1],
  good: good[0],
  ofGood: good[1],
});

interface DistinguishingFindingsProps {
  common: readonly RuleDistinction[];
  bad: number;
  hasSelection: boolean;
  title: (rule: string) => string;
}

/** The findings of the bad hosts that the others do not have, with counts. */
function DistinguishingFindings({ common, bad, hasSelection, title }: DistinguishingFindingsProps) {
  const { t } = useTranslation();
  const distinguishing = common.filter((item) => item.distinction >= MIN_SHARE).slice(0, MAX_DISTINGUISHING);
  return (
    <section className={classes.distinguishing} aria-label={t("fleet.distinguishing")}>
      <h2>
        {t(hasSelection ? "fleet.distinguishingChosen" : "fleet.distinguishingCritical", { count: bad })}
      </h2>
      {distinguishing.length === 0 ? (
        <p className="dim">{t("fleet.distinguishingNone")}</p>
      ) : (
        <ol>
          {distinguishing.map((item) => (
            <li key={item.rule}>
              <span className={classes.shareBars} aria-hidden>
                <span style={{ width: `${(100 * item.bad[0]) / (item.bad[1] || 1)}%` }} data-side="bad" />
                <span style={{ width: `${(100 * item.good[0]) / (item.good[1] || 1)}%` }} data-side="good" />
              </span>
              <span>{t("fleet.common", toShareTexts(item, title(item.rule)))}</span>
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}
