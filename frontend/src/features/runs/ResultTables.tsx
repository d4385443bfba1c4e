import { Select } from "@mantine/core";
import { useEffect, useRef } from "react";
import type { ResultTable } from "../../client/models";
import { Link } from "../../components/Link";
import { Panel } from "../../components/Page";
import { DataTable } from "../../components/tables/DataTable";
import { formatSearch } from "../../core/search";
import { formatQuantity } from "../../core/text/format";
import { usePermission } from "../../lib/queries";
import { useTranslation } from "../../lib/text/useTranslation";
import { textField, useUrlState } from "../../lib/urlState";
import { PinButton } from "../../widgets/pins/PinButton";
import classes from "./Run.module.css";

const MAX_ROWS = 200;
/** URL parameters: `row` is a linked row, `collector/kind/index` (index from 0); `table` is the selected table. */
const FIELDS = { row: textField, table: textField };

/** Index tables by `collector/kind`; a repeated kind gets a number, such as `collector/kind/2`. */
function indexTables(tables: readonly ResultTable[]): Map<string, ResultTable> {
  const byId = new Map<string, ResultTable>();
  for (const table of tables) {
    const id = `${table.collector ?? ""}/${table.kind}`;
    let free = id;
    for (let n = 2; byId.has(free); n++) free = `${id}/${n}`;
    byId.set(free, table);
  }
  return byId;
}

/**
 * A selected table of the collectors' results (processes by CPU, queues, limits). A run has up to fifty tables with
 * hundreds of rows each, which take a browser more than a second to render together.
 */
export function ResultTables({ runId, tables }: { runId: string; tables: readonly ResultTable[] }) {
  const { t } = useTranslation();
  const [{ row, table: chosen }, set] = useUrlState(FIELDS);
  const byId = indexTables(tables);
  const requested = chosen || row.slice(0, Math.max(0, row.lastIndexOf("/")));
  const selected = byId.has(requested) ? requested : [...byId.keys()][0];
  const table = selected === undefined ? undefined : byId.get(selected);
  if (!table) return null;
  const titleOf = (item: ResultTable) =>
    t(`table.${item.kind}` as "run.tables", { defaultValue: item.kind.replaceAll("_", " ") });
  const choices = [...byId].map(([value, item]) => ({
    value,
    label: t("run.tableChoice", {
      title: titleOf(item),
      collector: item.collector ?? "–",
      count: item.rows.length,
    }),
  }));
  return (
    <Panel
      title={t("run.tables")}
      flush
      id="tables"
      headerExtra={
        <>
          <Select
            size="xs"
            w={320}
            aria-label={t("run.tableShown")}
            data={choices}
            value={selected ?? null}
            onChange={(id) => id && set({ table: id, row: "" })}
            searchable
            allowDeselect={false}
            nothingFoundMessage={t("run.tableNone")}
          />
          {table.artifact_id && (
            <Link to="/artifacts/$artifactId" params={{ artifactId: table.artifact_id }}>
              {t("run.source")}
            </Link>
          )}
        </>
      }
    >
      <ResultTableView key={selected} runId={runId} table={table} title={titleOf(table)} />
    </Panel>
  );
}

function ResultTableView({ runId, table, title }: { runId: string; table: ResultTable; title: string }) {
  const { t } = useTranslation();
  const can = usePermission();
  const { collector } = table;
  const pins = can("incident.edit") && collector !== null;
  const [{ row: selectedRow }] = useUrlState(FIELDS);
  const name = (at: number) => `${table.collector}/${table.kind}/${at}`;
  const marked = table.rows.findIndex((_, at) => selectedRow !== "" && name(at) === selectedRow);
  const mark = useRef<HTMLTableRowElement>(null);
  useEffect(() => {
    if (marked >= 0) mark.current?.scrollIntoView({ block: "center" });
  }, [marked]);
  const rowLimit = Math.max(MAX_ROWS, marked + 1);
  return (
    <>
      <DataTable label={title} maxHeight={360}>
        <thead>
          <tr>
            {table.columns.map((column) => (
              <th key={column.id} className={column.unit ? "right" : undefined}>
                {column.id.replaceAll("_", " ")}
              </th>
            ))}
            {pins && (
              <th>
                <span className="visually-hidden">{t("incidents.pin.row")}</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {table.rows.slice(0, rowLimit).map((row, i) => (
            <tr
              key={i}
              {...(i === marked ? { ref: mark, className: classes.marked, "aria-current": true } : {})}
            >
              {row.map((cell, j) => {
                const unit = table.columns[j]?.unit ?? "";
                const numeric = typeof cell === "number";
                return (
                  <td key={j} className={numeric && unit ? "right num" : numeric ? "num" : "mono"}>
                    {cell === null ? "–" : numeric && unit ? formatQuantity(cell, unit) : String(cell)}
                  </td>
                );
              })}
              {pins && (
                <td className="right">
                  <PinButton
                    small
                    target={{
                      kind: "row",
                      ref: { run_id: runId, collector, kind: table.kind, row: i },
                    }}
                    view={`/runs/${runId}${formatSearch({ row: name(i) })}`}
                    label={t("incidents.pin.row")}
                  />
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </DataTable>
      {table.rows.length > rowLimit && (
        <p className={classes.more}>{t("run.rest", { visible: rowLimit, all: table.rows.length })}</p>
      )}
    </>
  );
}
