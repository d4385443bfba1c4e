import { useMediaQuery } from "@mantine/hooks";
import { useCallback, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import type { FleetUse, FleetUseHost } from "../../client/types";
import { type GridCell, type GridColumn, VirtualGrid } from "../../components/VirtualGrid";
import { cx } from "../../core/cx";
import { ageMs, COLUMNS, type ColumnId, cellLook, roughAge, rowsOf } from "../../core/fleet";
import { quantity } from "../../core/format";
import { useUrlState } from "../../lib/urlState";
import { AtCell } from "./AtCell";
import { partsOf } from "./columns";
import classes from "./Fleet.module.css";
import { FIELDS } from "./fields";
import { GroupName, HostName } from "./Names";
import { OrderLine } from "./OrderLine";
import { Sign } from "./Sign";
import { useCellWords } from "./useCellWords";
import { useStandingOrder } from "./useStandingOrder";

const SIZES = {
  full: { row: 38, column: 84, name: 216 },
  dense: { row: 20, column: 30, name: 190 },
} as const;
const NARROW_NAME = 136;

interface Props {
  fleet: FleetUse;
  /** Those that are shown, in the order that was asked for. */
  hosts: readonly FleetUseHost[];
  chosen: ReadonlySet<string>;
  onChoose: (ids: readonly string[]) => void;
  onOpen: (host: string, column: string) => void;
  onHost: (host: string) => void;
}

/** Host × resource × (utilisation, saturation, errors). */
export function UseView({ fleet, hosts, chosen, onChoose, onOpen, onHost }: Props) {
  const { t } = useTranslation();
  const [state] = useUrlState(FIELDS);
  const say = useCellWords();
  const narrow = useMediaQuery("(max-width: 640px)");
  const size = SIZES[state.size];
  const nameWidth = narrow ? NARROW_NAME : size.name;
  const full = state.size === "full";
  const order = useStandingOrder(hosts, [state.sort, state.label, state.q, state.has].join("\n"));
  const rows = useMemo(() => rowsOf(order.rows, state.label), [order.rows, state.label]);
  const [at, setAt] = useState({ row: state.label ? 1 : 0, column: 1 });
  const staleMs = Number(state.fresh) * 1000;
  const columns = useMemo(
    () =>
      COLUMNS.map((id): GridColumn => {
        const [resource, letter] = partsOf(id);
        const first = letter === "utilisation";
        return {
          id,
          width: size.column,
          first,
          name: t("fleet.column", {
            resource: t(`fleet.resource.${resource}`),
            letter: t(`fleet.letter.${letter}`),
          }),
          head: (
            <>
              {first && <span className={classes.resource}>{t(`fleet.resource.${resource}`)}</span>}
              <span>{full ? t(`fleet.letter.${letter}`) : t(`fleet.letterShort.${letter}`)}</span>
            </>
          ),
        };
      }),
    [t, size.column, full],
  );
  const { rules, at: now } = fleet;
  const cell = useCallback(
    (host: FleetUseHost, column: string): GridCell => {
      const word = host.cells[column as ColumnId];
      const rule = word && rules[word.rule];
      const age = word && ageMs(host, word, now);
      const stale = age !== undefined && age > staleMs;
      const look = cellLook(word);
      const words = say(word, rule, age);
      if (!word || !full) return { look, stale, words, content: word ? <Sign look={look} /> : undefined };
      return {
        look,
        stale,
        words,
        content: (
          <>
            <span className={classes.value}>
              <Sign look={look} />
              <span className="num">{word.value === null ? "" : quantity(word.value, rule?.unit ?? "")}</span>
            </span>
            <span className={classes.beside}>
              <span>
                {word.state === "fired" && word.threshold !== null
                  ? `${rule?.op ?? ""} ${quantity(word.threshold, rule?.unit ?? "")}`
                  : ""}
              </span>
              <span className={classes.age}>{age === undefined ? "" : roughAge(age)}</span>
            </span>
          </>
        ),
      };
    },
    [rules, now, staleMs, full, say],
  );
  const toggle = useCallback(
    (host: { id: string }) =>
      onChoose(chosen.has(host.id) ? [...chosen].filter((one) => one !== host.id) : [...chosen, host.id]),
    [chosen, onChoose],
  );
  const name = useCallback(
    (host: FleetUseHost) => (
      <HostName
        host={host}
        now={now}
        staleMs={staleMs}
        chosen={chosen.has(host.id)}
        onToggle={toggle}
        dense={!full}
      />
    ),
    [now, staleMs, chosen, toggle, full],
  );
  const open = useCallback(
    (host: FleetUseHost, column: string | undefined) => (column ? onOpen(host.id, column) : onHost(host.id)),
    [onOpen, onHost],
  );
  const row = rows[Math.min(at.row, rows.length - 1)];
  const host = row?.kind === "host" ? row.host : undefined;
  const column = COLUMNS[at.column - 1];
  return (
    <div className={cx(classes.grid, full ? classes.full : classes.dense)}>
      <OrderLine stale={order.stale} onRenew={order.renew} shown={hosts.length} of={fleet.hosts.length} />
      <VirtualGrid
        label={t("fleet.views.use")}
        rows={rows}
        columns={columns}
        rowHeight={size.row}
        nameWidth={nameWidth}
        nameHead={t("fleet.host")}
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
        column={columns.find((one) => one.id === column)?.name}
        words={host && column ? cell(host, column).words : undefined}
        said={host && column ? host.cells[column] : undefined}
        asks={
          column ? Object.values(rules).filter((one) => `${one.resource}.${one.letter}` === column).length : 0
        }
      />
    </div>
  );
}
