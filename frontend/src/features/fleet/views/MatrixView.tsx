import { useMediaQuery } from "@mantine/hooks";
import { useCallback, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import type { FleetFindings, FleetFindingsHost } from "../../client/types";
import { Empty } from "../../components/States";
import { type GridCell, type GridColumn, VirtualGrid } from "../../components/VirtualGrid";
import { cx } from "../../core/cx";
import { ageMs, type Commonness, cellLook, commonness, rowsOf } from "../../core/fleet";
import { percent } from "../../core/format";
import { usePick } from "../../lib/i18n";
import { useUrlState } from "../../lib/urlState";
import { AtCell } from "./AtCell";
import classes from "./Fleet.module.css";
import { FIELDS } from "./fields";
import { GroupName, HostName } from "./Names";
import { OrderLine } from "./OrderLine";
import { Sign } from "./Sign";
import { useCellWords } from "./useCellWords";
import { useStandingOrder } from "./useStandingOrder";
import { wordOf } from "./word";

/** Findings that tell the bad ones from the others at least this well are told above the matrix. */
const TELLING = 0.25;
const MOST_TOLD = 6;
const WIDTH = 40;

interface Props {
  fleet: FleetFindings;
  hosts: readonly FleetFindingsHost[];
  chosen: ReadonlySet<string>;
  onChoose: (ids: readonly string[]) => void;
  onOpen: (host: string, column: string) => void;
  onHost: (host: string) => void;
}

/** Host × finding: what fired where, and what the bad ones have in common. */
export function MatrixView({ fleet, hosts, chosen, onChoose, onOpen, onHost }: Props) {
  const { t } = useTranslation();
  const pick = usePick();
  const say = useCellWords();
  const [state] = useUrlState(FIELDS);
  const narrow = useMediaQuery("(max-width: 640px)");
  const [at, setAt] = useState({ row: state.label ? 1 : 0, column: 1 });
  const order = useStandingOrder(hosts, [state.sort, state.label, state.q, state.has].join("\n"));
  const rows = useMemo(() => rowsOf(order.rows, state.label), [order.rows, state.label]);
  const byHand = hosts.some((one) => chosen.has(one.id));
  const bad = useMemo(
    () =>
      new Set(
        hosts.filter((one) => (byHand ? chosen.has(one.id) : one.worst === "critical")).map((one) => one.id),
      ),
    [hosts, chosen, byHand],
  );
  const common = useMemo(() => commonness(hosts, bad), [hosts, bad]);
  const { rules, at: now } = fleet;
  const title = useCallback((rule: string) => pick(rules[rule]?.title) || rule, [rules, pick]);
  const columns = useMemo(
    () =>
      common.map(
        (one): GridColumn => ({
          id: one.rule,
          width: WIDTH,
          name: t("fleet.common", sidesOf(one, title(one.rule))),
          head: (
            <>
              <span className={classes.upright}>{title(one.rule)}</span>
              <span className={cx(classes.share, "num")}>{shareOf(one.bad)}</span>
              <span className={cx(classes.share, "num", "dim")}>{shareOf(one.good)}</span>
            </>
          ),
        }),
      ),
    [common, t, title],
  );
  const staleMs = Number(state.fresh) * 1000;
  const cell = useCallback(
    (host: FleetFindingsHost, rule: string): GridCell => {
      const word = wordOf(host, rule);
      const look = cellLook(word);
      const age = word?.state === "fired" ? ageMs(host, word, now) : undefined;
      const words = word ? say(word, rules[rule], age) : `${t("fleet.look.absent")} · ${title(rule)}`;
      const stale = age !== undefined && age > staleMs;
      return { look, stale, words, content: word && <Sign look={look} /> };
    },
    [rules, now, staleMs, say, t, title],
  );
  const toggle = useCallback(
    (host: { id: string }) =>
      onChoose(chosen.has(host.id) ? [...chosen].filter((one) => one !== host.id) : [...chosen, host.id]),
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
    return <Empty title={t("fleet.nothingFired")}>{t("fleet.nothingFiredText")}</Empty>;
  const row = rows[Math.min(at.row, rows.length - 1)];
  const host = row?.kind === "host" ? row.host : undefined;
  const rule = columns[at.column - 1]?.id;
  return (
    <div className={cx(classes.grid, classes.matrix)}>
      <Telling common={common} bad={bad.size} byHand={byHand} title={title} />
      <OrderLine stale={order.stale} onRenew={order.renew} shown={hosts.length} of={fleet.hosts.length} />
      <VirtualGrid
        label={t("fleet.views.findings")}
        rows={rows}
        columns={columns}
        rowHeight={24}
        nameWidth={narrow ? 136 : 190}
        nameHead={
          <span className={classes.corner}>{t(byHand ? "fleet.sidesChosen" : "fleet.sidesCritical")}</span>
        }
        group={(one) => <GroupName label={state.label} row={one} chosen={chosen} onChoose={onChoose} />}
        name={name}
        cell={cell}
        cellClass={classes.cell}
        chosen={chosen}
        at={at}
        onAt={setAt}
        onOpen={open}
        onChoose={toggle}
      />
      <AtCell
        host={host?.name}
        column={rule && title(rule)}
        words={host && rule ? cell(host, rule).words : undefined}
      />
    </div>
  );
}

const shareOf = ([fired, asked]: readonly [number, number]) => (asked === 0 ? "–" : percent(fired / asked));

const sidesOf = ({ bad, good }: Commonness, title: string) => ({
  title,
  bad: bad[0],
  ofBad: bad[1],
  good: good[0],
  ofGood: good[1],
});

interface TellingProps {
  common: readonly Commonness[];
  bad: number;
  byHand: boolean;
  title: (rule: string) => string;
}

/** What the bad ones have and the others have not, with how many of how many. */
function Telling({ common, bad, byHand, title }: TellingProps) {
  const { t } = useTranslation();
  const told = common.filter((one) => one.tells >= TELLING).slice(0, MOST_TOLD);
  return (
    <section className={classes.telling} aria-label={t("fleet.telling")}>
      <h2>{t(byHand ? "fleet.tellingChosen" : "fleet.tellingCritical", { count: bad })}</h2>
      {told.length === 0 ? (
        <p className="dim">{t("fleet.tellsNothing")}</p>
      ) : (
        <ol>
          {told.map((one) => (
            <li key={one.rule}>
              <span className={classes.both} aria-hidden>
                <span style={{ width: `${(100 * one.bad[0]) / (one.bad[1] || 1)}%` }} data-side="bad" />
                <span style={{ width: `${(100 * one.good[0]) / (one.good[1] || 1)}%` }} data-side="good" />
              </span>
              <span>{t("fleet.common", sidesOf(one, title(one.rule)))}</span>
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}
