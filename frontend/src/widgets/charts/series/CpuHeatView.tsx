import { SegmentedControl } from "@mantine/core";
import { useMemo, useState } from "react";
import { DataTable } from "../../../components/tables/DataTable";
import type { Heat } from "../../../core/charts/heat";
import { rankRowMeans } from "../../../core/charts/panels";
import { formatQuantity, NO_VALUE } from "../../../core/text/format";
import type { Range } from "../../../core/time/range";
import { useTimeFormat } from "../../../lib/text/useFormat";
import { useTranslation } from "../../../lib/text/useTranslation";
import { SampleHeatmap } from "../../flame-graph/SampleHeatmap";
import type { CpuHeatBody, VisualCpuMatrix, VisualFigure } from "../api";
import { ChartValue } from "../ChartValue";
import shared from "../charts.module.css";
import { useFillId } from "../Legend";
import { useWidth } from "../useWidth";
import classes from "./CpuHeat.module.css";

const GUTTER = 44;
const SIDE = 96;
const HEIGHT = 300;
const LABEL = 14;
const MAX_RATES = 6;

/** Render a heat map with a row for each CPU, its time in softirqs as a bar, and the rates in the brushed range. */
export function CpuHeatView({ body, label }: { body: CpuHeatBody; label: string }) {
  const { t } = useTranslation();
  const { ref, width } = useWidth();
  const [vector, setVector] = useState(body.matrices[0]?.vector ?? "");
  const [brush, setBrush] = useState<Range | undefined>(undefined);
  const matrix =
    body.matrices.find((visualCpuMatrix) => visualCpuMatrix.vector === vector) ?? body.matrices[0];
  const rowPx = Math.max(2, Math.min(18, Math.floor(HEIGHT / Math.max(1, body.cpus.length))));
  const heat = useMemo(() => (matrix ? heatOf(body, matrix) : undefined), [body, matrix]);
  if (!matrix || !heat) return null;
  return (
    <div ref={ref} className={shared.drawing}>
      <SegmentedControl
        size="xs"
        className={classes.vectors}
        aria-label={t("visuals.heat.vector")}
        value={matrix.vector}
        onChange={setVector}
        data={body.matrices.map((visualCpuMatrix) => visualCpuMatrix.vector)}
      />
      <RateSummary matrix={matrix} />
      <div className={classes.scroll}>
        <div className={classes.row} style={{ gridTemplateColumns: `${GUTTER}px minmax(0, 1fr) ${SIDE}px` }}>
          <CpuLabels cpus={body.cpus} rowPx={rowPx} />
          <SampleHeatmap
            heat={heat}
            rowPx={rowPx}
            brush={brush}
            baseline={undefined}
            label={`${label}, ${matrix.vector}`}
            onBrush={(range) => setBrush(range)}
          />
          <SoftirqBars body={body} rowPx={rowPx} />
        </div>
      </div>
      <TimeLabels body={body} width={width} />
      <Rates body={body} matrix={matrix} brush={brush} />
    </div>
  );
}

/** Return the matrix for SampleHeatmap. Its first row is at the bottom, so rows are reversed; no data is NaN. */
function heatOf(body: CpuHeatBody, matrix: VisualCpuMatrix): Heat {
  return {
    t0Ns: body.t_ns[0] ?? 0,
    colNs: body.step_ns,
    rows: body.cpus.length,
    counts: [...matrix.values].reverse().map((row) => row.map((item) => item ?? Number.NaN)),
  };
}

function RateSummary({ matrix }: { matrix: VisualCpuMatrix }) {
  const { t } = useTranslation();
  return (
    <p className={classes.summary}>
      <span>
        {t("visuals.heat.total")} <ChartValue figure={matrix.total} label={t("visuals.heat.total")} />
      </span>
      <span>
        {t("visuals.heat.busiest", { cpu: matrix.busiest })}{" "}
        <ChartValue figure={matrix.maximum} label={t("visuals.heat.busiest", { cpu: matrix.busiest })} />
      </span>
      <span className={classes.imbalance}>
        {t("visuals.heat.imbalance")}{" "}
        {matrix.uneven ? (
          <>
            <svg viewBox="0 0 100 8" width="80" height="8" aria-hidden preserveAspectRatio="none">
              <rect className={classes.barBackground} width="100" height="8" />
              <rect
                className={classes.bar}
                width={Math.min(100, (100 * Math.log2(Math.max(1, matrix.uneven.value))) / 6)}
                height="8"
              />
            </svg>{" "}
            ×&nbsp;
            <ChartValue figure={matrix.uneven} label={t("visuals.heat.imbalance")} />
          </>
        ) : (
          NO_VALUE
        )}
      </span>
    </p>
  );
}

function CpuLabels({ cpus, rowPx }: { cpus: readonly string[]; rowPx: number }) {
  const every = Math.max(1, Math.ceil(LABEL / rowPx));
  return (
    <svg className={shared.svg} width={GUTTER} height={cpus.length * rowPx} aria-hidden>
      {cpus.map(
        (cpu, i) =>
          i % every === 0 && (
            <text key={cpu} x={GUTTER - 6} y={i * rowPx + Math.min(11, rowPx * 0.5 + 5)} textAnchor="end">
              {cpu}
            </text>
          ),
      )}
    </svg>
  );
}

/** Render the time in softirqs of each CPU. A CPU without data is hatched. */
function SoftirqBars({ body, rowPx }: { body: CpuHeatBody; rowPx: number }) {
  const { t } = useTranslation();
  const id = useFillId();
  const height = body.cpus.length * rowPx;
  const bar = SIDE - 46;
  return (
    <svg
      className={shared.svg}
      width={SIDE}
      height={height}
      role="img"
      aria-label={t("visuals.heat.softirqTime")}
    >
      <defs>
        <pattern id={id} width="6" height="6" patternUnits="userSpaceOnUse">
          <path d="M-1 4 4 -1M2 8 8 2" className={classes.hatch} />
        </pattern>
      </defs>
      {body.busy.map((figure, i) => (
        <g key={body.cpus[i]} transform={`translate(8 ${i * rowPx})`}>
          <title>{`CPU ${body.cpus[i]}: ${figure ? formatQuantity(figure.value, figure.unit) : NO_VALUE}`}</title>
          <rect
            className={figure ? classes.barBackground : undefined}
            fill={figure ? undefined : `url(#${id})`}
            width={bar}
            height={Math.max(1, rowPx - 1)}
          />
          {figure && (
            <rect
              className={classes.bar}
              width={(bar * Math.min(100, figure.value)) / 100}
              height={Math.max(1, rowPx - 1)}
            />
          )}
          {rowPx >= 11 && (
            <text x={bar + 4} y={rowPx / 2 + 4}>
              {figure ? formatQuantity(figure.value, figure.unit) : NO_VALUE}
            </text>
          )}
        </g>
      ))}
    </svg>
  );
}

function TimeLabels({ body, width }: { body: CpuHeatBody; width: number }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const from = body.t_ns[0] ?? 0;
  return (
    <p className={classes.timeLabels} style={{ paddingLeft: GUTTER, paddingRight: SIDE, maxWidth: width }}>
      <span className="num">{time.time(from)}</span>
      <span className="num">{time.time(from + body.t_ns.length * body.step_ns)}</span>
      <span className={classes.axisNote}>{t("visuals.heat.softirqTime")}</span>
    </p>
  );
}

/** Return [CPU, mean rate] in a range, largest first. */
function ratesIn(body: CpuHeatBody, matrix: VisualCpuMatrix, range: Range | undefined): [string, number][] {
  const inside = body.t_ns.map((t) => range === undefined || (t < range.to && t + body.step_ns > range.from));
  return rankRowMeans(matrix.values, inside).map(([i, rate]) => [body.cpus[i] ?? "", rate]);
}

function Rates({
  body,
  matrix,
  brush,
}: {
  body: CpuHeatBody;
  matrix: VisualCpuMatrix;
  brush: Range | undefined;
}) {
  const { t } = useTranslation();
  const rates = ratesIn(body, matrix, brush);
  const mean = rates.reduce((sum, [, rate]) => sum + rate, 0) / Math.max(1, rates.length);
  return (
    <p className={classes.rates} aria-live="polite">
      <span className="dim">{t(brush ? "visuals.heat.inRange" : "visuals.heat.inAll")}</span>
      {rates.slice(0, MAX_RATES).map(([cpu, rate]) => (
        <span key={cpu} className="num">
          CPU {cpu} {formatQuantity(rate, matrix.unit)}
        </span>
      ))}
      <span className="num dim">
        {t("visuals.heat.mean")} {formatQuantity(mean, matrix.unit)}
      </span>
    </p>
  );
}

/** Render the mean rate of each vector on each CPU as a table. */
export function CpuHeatTable({ body, label }: { body: CpuHeatBody; label: string }) {
  const { t } = useTranslation();
  const means = body.matrices.map((visualCpuMatrix) => new Map(ratesIn(body, visualCpuMatrix, undefined)));
  const figure = (matrix: VisualCpuMatrix, value: number | undefined): VisualFigure | null =>
    value === undefined ? null : { value, unit: matrix.unit, citation: matrix.total.citation };
  return (
    <DataTable label={label} maxHeight={420}>
      <thead>
        <tr>
          <th>CPU</th>
          <th className="right">{t("visuals.heat.softirqTime")}</th>
          {body.matrices.map((visualCpuMatrix) => (
            <th key={visualCpuMatrix.vector} className="right">
              {visualCpuMatrix.vector}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {body.cpus.map((cpu, i) => (
          <tr key={cpu}>
            <td className="num">{cpu}</td>
            <td className="right num">
              <ChartValue figure={body.busy[i]} label={`CPU ${cpu}`} />
            </td>
            {body.matrices.map((visualCpuMatrix, k) => (
              <td key={visualCpuMatrix.vector} className="right num">
                <ChartValue
                  figure={figure(visualCpuMatrix, means[k]?.get(cpu))}
                  label={`CPU ${cpu}, ${visualCpuMatrix.vector}`}
                />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </DataTable>
  );
}
