import { useEffect, useRef } from "react";
import type { ResultTable } from "../../client/models";
import { Link } from "../../components/Link";
import { Panel } from "../../components/Page";
import { DataTable } from "../../components/tables/DataTable";
import { formatSearch } from "../../core/search";
import { quantity } from "../../core/text/format";
import { usePermission } from "../../lib/queries";
import { useTranslation } from "../../lib/text/useTranslation";
import { textField, useUrlState } from "../../lib/urlState";
import { PinButton } from "../../widgets/pins/PinButton";
import classes from "./Run.module.css";

const MAX_ROWS = 200;
/** A row that is pointed at: collector, kind of the table, and its number from 0. */
const FIELDS = { row: textField };

/** Small tables that collectors made: processes by CPU, queues, limits. */
export function ResultTables({ runId, tables }: { runId: string; tables: readonly ResultTable[] }) {
  return tables.map((table) => (
    <ResultTableView key={`${table.kind}${table.artifact_id}`} runId={runId} table={table} />
  ));
}

function ResultTableView({ runId, table }: { runId: string; table: ResultTable }) {
  const { t } = useTranslation();
  const may = usePermission();
  const { collector } = table;
  const pins = may("incident.edit") && collector !== null;
  const [{ row: selectedRow }] = useUrlState(FIELDS);
  const name = (at: number) => `${table.collector}/${table.kind}/${at}`;
  const marked = table.rows.findIndex((_, at) => selectedRow !== "" && name(at) === selectedRow);
  const mark = useRef<HTMLTableRowElement>(null);
  useEffect(() => {
    if (marked >= 0) mark.current?.scrollIntoView({ block: "center" });
  }, [marked]);
  const rowLimit = Math.max(MAX_ROWS, marked + 1);
  const title = t(`table.${table.kind}` as "run.tables", { defaultValue: table.kind.replaceAll("_", " ") });
  return (
    <Panel
      title={title}
      flush
      headerExtra={
        table.artifact_id && (
          <Link to="/artifacts/$artifactId" params={{ artifactId: table.artifact_id }}>
            {t("run.source")}
          </Link>
        )
      }
    >
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
                    {cell === null ? "–" : numeric && unit ? quantity(cell, unit) : String(cell)}
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
    </Panel>
  );
}
