import { DataTable } from "../../../components/tables/DataTable";
import { useLocalized } from "../../../lib/text/i18n";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { StagesBody, VisualFigure } from "../api";
import { ChartValue } from "../ChartValue";
import classes from "../charts.module.css";

const ARROWS = { more: "↑", less: "↓", none: "" } as const;

/** Render stages, routes or threads as rows. Each number has a bar in the scale of its column. */
export function StagesView({ body, label }: { body: StagesBody; label: string }) {
  return <Rows body={body} label={label} bars />;
}

/** Render the rows without bars. */
export function StagesTable({ body, label }: { body: StagesBody; label: string }) {
  return <Rows body={body} label={label} bars={false} />;
}

function Rows({ body, label, bars }: { body: StagesBody; label: string; bars: boolean }) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const most = body.columns.map((_, i) =>
    Math.max(...body.rows.map((row) => Math.max(0, row.cells[i]?.value ?? 0))),
  );
  return (
    <DataTable label={label} stack maxHeight={480}>
      <thead>
        <tr>
          <th>{localize(body.row_label)}</th>
          {body.columns.map((column) => (
            <th
              key={column.id}
              className="right"
              title={column.better === "none" ? "" : t(`visuals.${column.better}`)}
            >
              {localize(column.label)} <span aria-hidden>{ARROWS[column.better]}</span>
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {body.rows.map((row, i) => (
          <tr key={i}>
            <td>
              {row.label || i + 1}{" "}
              <span className="dim num">
                {row.seconds && <ChartValue figure={row.seconds} label={row.label} />}
              </span>
            </td>
            {row.cells.map((cell, n) => (
              <td key={body.columns[n]?.id ?? n} className="right num">
                {bars && (
                  <CellBar cell={cell} most={most[n] ?? 0} better={body.columns[n]?.better ?? "none"} />
                )}
                <ChartValue figure={cell} label={localize(body.columns[n]?.label)} />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </DataTable>
  );
}

interface CellProps {
  cell: VisualFigure | null;
  most: number;
  better: "more" | "less" | "none";
}

/** Render the bar of a number. Undesired values are outlined, desired values are filled. */
function CellBar({ cell, most, better }: CellProps) {
  const share = cell && most > 0 ? Math.max(0, cell.value) / most : 0;
  return (
    <svg className={classes.cellBar} viewBox="0 0 60 10" aria-hidden>
      <line className={classes.axisLine} x1="0" x2="60" y1="9.5" y2="9.5" />
      {cell === null ? (
        <path className={classes.noValue} d="M0 10 10 0M12 10 22 0M24 10 34 0M36 10 46 0M48 10 58 0" />
      ) : (
        <rect
          className={classes.cell}
          data-better={better}
          y="1"
          width={share > 0 ? Math.max(1, 59 * share) : 0}
          height="8"
        />
      )}
    </svg>
  );
}
