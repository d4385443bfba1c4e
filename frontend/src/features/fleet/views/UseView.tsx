import { useMediaQuery } from "@mantine/hooks";
import { useCallback, useMemo, useState } from "react";
import type { FleetUse } from "../../../client/models";
import {
  VirtualTable,
  type VirtualTableCell,
  type VirtualTableColumn,
} from "../../../components/tables/VirtualTable";
import { cx } from "../../../core/cx";
import {
  COLUMNS,
  type ColumnId,
  cellState,
  formatRoughAge,
  groupHostRows,
  resultAgeMs,
} from "../../../core/hosts/fleet";
import { formatQuantity } from "../../../core/text/format";
import { useTranslation } from "../../../lib/text/useTranslation";
import { useUrlState } from "../../../lib/urlState";
import type { FleetUseHost } from "../api";
import { CellDetails } from "../cells/CellDetails";
import { CellIcon } from "../cells/CellIcon";
import { useCellText } from "../cells/useCellText";
import { splitColumnId } from "../columns";
import classes from "../Fleet.module.css";
import { FIELDS } from "../fields";
import { SortStatus } from "../SortStatus";
import { useStableOrder } from "../useStableOrder";
import { GroupName, HostName } from "./Names";

const SIZES = {
  full: { row: 38, column: 84, name: 216 },
  dense: { row: 20, column: 30, name: 190 },
} as const;
const NARROW_NAME = 168;

interface Props {
  fleet: FleetUse;
  /** The filtered hosts, in the selected order. */
  hosts: readonly FleetUseHost[];
  chosen: ReadonlySet<string>;
  onChoose: (ids: readonly string[]) => void;
  onOpen: (host: string, column: string) => void;
  onHost: (host: string) => void;
}

/** USE grid: hosts × resources × (utilization, saturation, errors). */
export function UseView({ fleet, hosts, chosen, onChoose, onOpen, onHost }: Props) {
  const { t } = useTranslation();
  const [state] = useUrlState(FIELDS);
  const cellText = useCellText();
  const narrow = useMediaQuery("(max-width: 640px)");
  const size = SIZES[state.size];
  const nameWidth = narrow ? NARROW_NAME : size.name;
  const full = state.size === "full";
  const order = useStableOrder(hosts, [state.sort, state.label, state.q, state.has].join("\n"));
  const rows = useMemo(() => groupHostRows(order.rows, state.label), [order.rows, state.label]);
  const [at, setAt] = useState({ row: state.label ? 1 : 0, column: 1 });
  const staleMs = Number(state.fresh) * 1000;
  const columns = useMemo(
    () =>
      COLUMNS.map((id): VirtualTableColumn => {
        const [resource, category] = splitColumnId(id);
        const first = category === "utilization";
        return {
          id,
          width: size.column,
          first,
          name: t("fleet.column", {
            resource: t(`fleet.resource.${resource}`),
            use_category: t(`fleet.use_category.${category}`),
          }),
          head: (
            <>
              {first && <span className={classes.resource}>{t(`fleet.resource.${resource}`)}</span>}
              <span>{full ? t(`fleet.use_category.${category}`) : t(`fleet.letterShort.${category}`)}</span>
            </>
          ),
        };
      }),
    [t, size.column, full],
  );
  const { rules, at: now } = fleet;
  const cell = useCallback(
    (host: FleetUseHost, column: string): VirtualTableCell => {
      const result = host.cells[column as ColumnId];
      const rule = result && rules[result.rule];
      const age = result && resultAgeMs(host, result, now);
      const stale = age !== undefined && age > staleMs;
      const look = cellState(result);
      const words = cellText(result, rule, age);
      if (!result || !full)
        return { look, stale, words, content: result ? <CellIcon state={look} /> : undefined };
      return {
        look,
        stale,
        words,
        content: (
          <>
            <span className={classes.value}>
              <CellIcon state={look} />
              <span className="num">
                {result.value === null ? "" : formatQuantity(result.value, rule?.unit ?? "")}
              </span>
            </span>
            <span className={classes.categories}>
              <span>
                {result.state === "matched" && result.threshold !== null
                  ? `${rule?.op ?? ""} ${formatQuantity(result.threshold, rule?.unit ?? "")}`
                  : ""}
              </span>
              <span className={classes.age}>{age === undefined ? "" : formatRoughAge(age)}</span>
            </span>
          </>
        ),
      };
    },
    [rules, now, staleMs, full, cellText],
  );
  const toggle = useCallback(
    (host: { id: string }) =>
      onChoose(chosen.has(host.id) ? [...chosen].filter((item) => item !== host.id) : [...chosen, host.id]),
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
      <SortStatus
        stale={order.stale}
        onRenew={order.renew}
        visible={hosts.length}
        total={fleet.hosts.length}
      />
      <VirtualTable
        label={t("fleet.views.use")}
        rows={rows}
        columns={columns}
        rowHeight={size.row}
        nameWidth={nameWidth}
        nameHead={t("fleet.host")}
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
        column={columns.find((virtualTableColumn) => virtualTableColumn.id === column)?.name}
        text={host && column ? cell(host, column).words : undefined}
        cell={host && column ? host.cells[column] : undefined}
        ruleCount={
          column
            ? Object.values(rules).filter((rule) => `${rule.resource}.${rule.use_category}` === column).length
            : 0
        }
      />
    </div>
  );
}
