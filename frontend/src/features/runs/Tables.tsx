import { useTranslation } from "react-i18next";
import type { ResultTable } from "../../client/types";
import { Grid } from "../../components/Grid";
import { Link } from "../../components/Link";
import { Panel } from "../../components/Page";
import { quantity } from "../../core/format";
import { useMay } from "../../lib/queries";
import { PinButton } from "../../renderers/incident/PinButton";
import classes from "./Run.module.css";

const SHOWN = 200;

/** Small tables that collectors made: processes by CPU, queues, limits. */
export function Tables({ runId, tables }: { runId: string; tables: readonly ResultTable[] }) {
  return tables.map((table) => <One key={`${table.kind}${table.artifact_id}`} runId={runId} table={table} />);
}

function One({ runId, table }: { runId: string; table: ResultTable }) {
  const { t } = useTranslation();
  const may = useMay();
  const pins = may("incident.edit") && table.collector !== null;
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
          {table.rows.slice(0, SHOWN).map((row, i) => (
            <tr key={i}>
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
                    label={t("incidents.pin.row")}
                  />
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </Grid>
      {table.rows.length > SHOWN && (
        <p className={classes.more}>{t("run.rest", { shown: SHOWN, all: table.rows.length })}</p>
      )}
    </Panel>
  );
}
