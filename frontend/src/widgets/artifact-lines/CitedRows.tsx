import type { ResultTable } from "../../client/models";
import { DataTable } from "../../components/tables/DataTable";
import { formatQuantity } from "../../core/text/format";
import { useTranslation } from "../../lib/text/useTranslation";
import classes from "./CitedLines.module.css";

const MOST = 8;

/** Return the indexes of the table rows that were parsed from `lines`. */
export const listCitedRows = (table: ResultTable, lines: readonly number[]): number[] => {
  const cited = new Set(lines);
  return table.lines.flatMap((line, row) => (cited.has(line) && table.rows[row] ? [row] : []));
};

interface Props {
  table: ResultTable;
  lines: readonly number[];
}

/** Render the table rows that were parsed from the cited lines, with units. */
export function CitedRows({ table, lines }: Props) {
  const { t } = useTranslation();
  const rows = listCitedRows(table, lines);
  if (rows.length === 0) return null;
  const title = t(`table.${table.kind}` as "run.tables", { defaultValue: table.kind.replaceAll("_", " ") });
  return (
    <figure className={classes.figure}>
      <figcaption className={classes.name}>{title}</figcaption>
      <DataTable label={title}>
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
          {rows.slice(0, MOST).map((row) => (
            <tr key={row}>
              {(table.rows[row] ?? []).map((cell, i) => {
                const unit = table.columns[i]?.unit ?? "";
                const numeric = typeof cell === "number";
                return (
                  <td key={i} className={numeric && unit ? "right num" : numeric ? "num" : "mono"}>
                    {cell === null ? "–" : numeric && unit ? formatQuantity(cell, unit) : String(cell)}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </DataTable>
      {rows.length > MOST && <p className="dim">{t("captures.more", { count: rows.length - MOST })}</p>}
    </figure>
  );
}
