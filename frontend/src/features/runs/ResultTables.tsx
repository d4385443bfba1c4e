import { useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";
import type { ResultTable } from "../../client/types";
import { Grid } from "../../components/Grid";
import { Link } from "../../components/Link";
import { Panel } from "../../components/Page";
import { quantity } from "../../core/format";
import { formatSearch } from "../../core/search";
import { useMay } from "../../lib/queries";
import { textField, useUrlState } from "../../lib/urlState";
import { PinButton } from "../../renderers/incident/PinButton";
import classes from "./Run.module.css";

const SHOWN = 200;
/** A row that is pointed at: collector, kind of the table, and its number from 0. */
const FIELDS = { row: textField };

/** Small tables that collectors made: processes by CPU, queues, limits. */
export function Tables({ runId, tables }: { runId: string; tables: readonly ResultTable[] }) {
  return tables.map((table) => <One key={`${table.kind}${table.artifact_id}`} runId={runId} table={table} />);
}

function One({ runId, table }: { runId: string; table: ResultTable }) {
  const { t } = useTranslation();
  const may = useMay();
  const pins = may("incident.edit") && table.collector !== null;
  const [{ row: wanted }] = useUrlState(FIELDS);
  const name = (at: number) => `${table.collector}/${table.kind}/${at}`;
  const marked = table.rows.findIndex((_, at) => wanted !== "" && name(at) === wanted);
  const mark = useRef<HTMLTableRowElement>(null);
  useEffect(() => {
    if (marked >= 0) mark.current?.scrollIntoView({ block: "center" });
  }, [marked]);
  const shown = Math.max(SHOWN, marked + 1);
  const title = t(`table.${table.kind}` as "run.tables", { defaultValue: table.kind.replaceAll("_", " ") });
  return (
    <Panel
      title={title}
      flush
      aside={
        table.artifact_id && (
          <Link to="/artifacts/$artifactId" params={{ artifactId: table.artifact_id }}>
            {t("run.source")}
          </Link>
        )
      }
    >
      <Grid label={title} maxHeight={360}>
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
          {table.rows.slice(0, shown).map((row, i) => (
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
                    kind="row"
                    of={{ run_id: runId, collector: table.collector, kind: table.kind, row: i }}
                    view={`/runs/${runId}${formatSearch({ row: name(i) })}`}
                    label={t("incidents.pin.row")}
                  />
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </Grid>
      {table.rows.length > shown && (
        <p className={classes.more}>{t("run.rest", { shown, all: table.rows.length })}</p>
      )}
    </Panel>
  );
}
