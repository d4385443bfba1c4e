import { useTranslation } from "react-i18next";
import type { ResultTable } from "../../client/types";
import { Grid } from "../../components/Grid";
import { Link } from "../../components/Link";
import { Panel } from "../../components/Page";
import { quantity } from "../../core/format";
import classes from "./Run.module.css";

const SHOWN = 200;

/** Small tables that collectors made: processes by CPU, queues, limits. */
export function Tables({ tables }: { tables: readonly ResultTable[] }) {
  return tables.map((table) => <One key={`${table.kind}${table.artifact_id}`} table={table} />);
}

function One({ table }: { table: ResultTable }) {
  const { t } = useTranslation();
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
