import { StatusIcon as Sign } from "../../../components/StatusIcon";
import { DataTable } from "../../../components/tables/DataTable";
import { formatNumber, formatQuantity, NO_VALUE } from "../../../core/text/format";
import { useLocalized, useMessage } from "../../../lib/text/i18n";
import { useTranslation } from "../../../lib/text/useTranslation";
import { CitedSource } from "../../findings/CitationLink";
import type { NumaCell, NumaMatrixBody, NumaRow, VisualCpuset } from "../api";
import { ChartSvg } from "../ChartSvg";
import { ChartMark, ChartValue } from "../ChartValue";
import shared from "../charts.module.css";
import { useFillId } from "../Legend";
import { useWidth } from "../useWidth";
import classes from "./NumaMatrix.module.css";

const GUTTER = 116;
const TOP = 34;
const CELL = { least: 108, most: 150, height: 46 };

/** Render CPUs of a node as rows and memory of a node as columns. A mismatched cell has a red border and ✕. */
export function NumaMatrixView({ body, label }: { body: NumaMatrixBody; label: string }) {
  const { t } = useTranslation();
  const { ref, width } = useWidth();
  const localize = useLocalized();
  const hatch = useFillId();
  const wide = Math.min(
    CELL.most,
    Math.max(CELL.least, (width - GUTTER - 4) / Math.max(1, body.columns.length)),
  );
  const most = Math.max(
    1e-9,
    ...body.rows.flatMap((row) => row.cells.map((numaCell) => numaCell.figure?.value ?? 0)),
  );
  return (
    <div ref={ref} className={shared.drawing}>
      <p className={classes.summary}>
        {localize(body.value_label)}
        {body.far_pct !== null && (
          <span className={classes.remoteShare}>
            {t("visuals.numa.far", { share: formatNumber(body.far_pct) })}
          </span>
        )}
      </p>
      <div className={classes.scroll}>
        <ChartSvg
          width={GUTTER + body.columns.length * wide + 4}
          height={TOP + body.rows.length * CELL.height + 4}
          label={label}
        >
          <defs>
            <pattern id={hatch} width="7" height="7" patternUnits="userSpaceOnUse">
              <path d="M-1 5 5 -1M3 9 9 3" className={classes.hatch} />
            </pattern>
          </defs>
          {body.columns.map((node, i) => (
            <text
              key={node}
              className={classes.head}
              x={GUTTER + (i + 0.5) * wide}
              y={TOP - 8}
              textAnchor="middle"
            >
              {t("visuals.numa.memoryOf", { node })}
            </text>
          ))}
          {body.rows.map((row, i) => (
            <g key={row.nodes.join(",")} transform={`translate(0 ${TOP + i * CELL.height})`}>
              <text className={classes.head} x={GUTTER - 8} y={CELL.height / 2 + 4} textAnchor="end">
                <RowName row={row} />
              </text>
              {row.cells.map((cell, k) => (
                <g key={body.columns[k]} transform={`translate(${GUTTER + k * wide} 0)`}>
                  <Cell
                    cell={cell}
                    wide={wide}
                    share={(cell.figure?.value ?? 0) / most}
                    hatch={hatch}
                    name={t("visuals.numa.cell", {
                      cpu: row.nodes.join(", ") || "≠",
                      memory: body.columns[k] ?? "",
                    })}
                  />
                </g>
              ))}
            </g>
          ))}
        </ChartSvg>
      </div>
      <MismatchNotes body={body} />
    </div>
  );
}

function RowName({ row }: { row: NumaRow }) {
  const { t } = useTranslation();
  return row.nodes.length > 0
    ? t("visuals.numa.cpusOf", { node: row.nodes.join(", ") })
    : t("visuals.numa.otherCpus");
}

interface CellProps {
  cell: NumaCell;
  wide: number;
  share: number;
  hatch: string;
  name: string;
}

function Cell({ cell, wide, share, hatch, name }: CellProps) {
  const { figure, mismatch, near, distance } = cell;
  const box = { x: 2, y: 2, width: wide - 4, height: CELL.height - 4 };
  if (!figure) return <rect {...box} fill={`url(#${hatch})`} className={classes.empty} />;
  const strength = figure.value > 0 ? 12 + 55 * Math.sqrt(Math.min(1, share)) : 0;
  const middle = CELL.height / 2 + (distance === null ? 4 : 0);
  return (
    <>
      <ChartMark figure={figure} label={name}>
        <rect
          {...box}
          className={classes.cell}
          data-near={near}
          data-mismatch={mismatch !== null}
          style={{ fill: `color-mix(in srgb, var(--c-accent) ${strength.toFixed(0)}%, var(--c-panel))` }}
        />
        <text className={classes.value} x={wide / 2} y={middle} textAnchor="middle">
          {formatQuantity(figure.value, figure.unit)}
        </text>
      </ChartMark>
      {mismatch && <path className={classes.cross} d="M7 8l8 8M15 8l-8 8" />}
      {distance !== null && (
        <text className={classes.distance} x={wide / 2} y={CELL.height - 9} textAnchor="middle">
          ↔ {distance}
        </text>
      )}
    </>
  );
}

function CpusetText({ cpuset }: { cpuset: VisualCpuset }) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const where = { cpus: cpuset.cpus, cpu: cpuset.cpu_nodes, memory: cpuset.mem_nodes };
  const text = t("visuals.numa.cpuset", where);
  return (
    <CitedSource place={cpuset.citation} label={localize(cpuset.label)} className={shared.value}>
      {text}
    </CitedSource>
  );
}

/** Render the reasons for mismatched cells, and the allowed CPU and memory nodes of groups and processes. */
function MismatchNotes({ body }: { body: NumaMatrixBody }) {
  const localize = useLocalized();
  const formatMessage = useMessage();
  const mismatches = body.rows
    .flatMap((row) => row.cells.map((cell) => formatMessage(cell.mismatch)))
    .filter(Boolean);
  return (
    <ul className={classes.notes}>
      {[...new Set(mismatches)].map((item) => (
        <li key={item} className={classes.mismatch}>
          ✕ {item}
        </li>
      ))}
      {body.cpusets.map((visualCpuset) => (
        <li key={visualCpuset.about}>
          <Sign
            tone={
              visualCpuset.mismatch === "disjoint"
                ? "bad"
                : visualCpuset.mismatch === "partial"
                  ? "warn"
                  : "ok"
            }
          >
            <span className="mono">{localize(visualCpuset.label)}</span>
          </Sign>{" "}
          <CpusetText cpuset={visualCpuset} />
        </li>
      ))}
    </ul>
  );
}

/** Render the matrix as a table. */
export function NumaMatrixTable({ body, label }: { body: NumaMatrixBody; label: string }) {
  const { t } = useTranslation();
  const formatMessage = useMessage();
  return (
    <>
      <DataTable label={label} maxHeight={420}>
        <thead>
          <tr>
            <th>{t("visuals.numa.cpus")}</th>
            {body.columns.map((node) => (
              <th key={node} className="right">
                {t("visuals.numa.memoryOf", { node })}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {body.rows.map((row) => (
            <tr key={row.nodes.join(",")}>
              <th scope="row">
                <RowName row={row} />
              </th>
              {row.cells.map((cell, k) => (
                <td key={body.columns[k]} className="right num">
                  <ChartValue
                    figure={cell.figure}
                    label={t("visuals.numa.memoryOf", { node: body.columns[k] ?? "" })}
                  />
                  {cell.mismatch && (
                    <span className={classes.mismatch}> ✕ {formatMessage(cell.mismatch)}</span>
                  )}
                  {!cell.figure && <span className="visually-hidden">{NO_VALUE}</span>}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </DataTable>
      <MismatchNotes body={body} />
    </>
  );
}
