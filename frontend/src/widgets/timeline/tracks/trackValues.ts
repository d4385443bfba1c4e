import {
  computeMatrixStats,
  computeStats,
  findIndexAt,
  findNearestIndex,
  type TrackRow,
} from "../../../core/charts/tracks";
import { formatQuantity } from "../../../core/text/format";
import type { Range } from "../../../core/time/range";
import type { Track } from "../api";
import classes from "../Timeline.module.css";
import type { NamedSeries } from "./trackSeries";

/** Value of a series in the gutter of a row: at the cursor, over the brush, or over the visible range. */
interface Line {
  readonly name: string;
  readonly ink: string | undefined;
  readonly value: number | undefined;
  readonly low?: number | undefined;
  readonly high?: number | undefined;
  /** Relative change (B − A) / |A|; present only in a comparison. */
  readonly change?: number | undefined;
}

/**
 * Return the values of a row at time `at` in ns. Of a heat map return the axis value at `share` of its height, or the
 * largest value if `share` is undefined.
 */
export function readValues(
  row: TrackRow,
  heat: Track | undefined,
  series: readonly NamedSeries[],
  at: number,
  step: number,
  share: number | undefined,
  range: Range,
  width: number,
): Line[] {
  const tolerance = Math.max(step * 0.75, ((range.to - range.from) / Math.max(width, 1)) * 2);
  if (row.kind === "heatmap") {
    const matrix = heat?.matrix;
    const i = matrix ? findNearestIndex(matrix.t_ns, at, tolerance) : -1;
    const values = matrix?.values[i];
    const names = heat?.axis_values ?? [];
    if (!values) return [{ name: "", ink: undefined, value: undefined }];
    if (share !== undefined) {
      const k = Math.min(names.length - 1, Math.floor(share * names.length));
      return [
        { name: `${heat?.axis ?? ""} ${names[k] ?? ""}`, ink: undefined, value: values[k] ?? undefined },
      ];
    }
    let best = -1;
    for (let k = 0; k < values.length; k += 1) if ((values[k] ?? -1) > (values[best] ?? -1)) best = k;
    return [
      {
        name: `max · ${heat?.axis ?? ""} ${names[best] ?? ""}`,
        ink: undefined,
        value: values[best] ?? undefined,
      },
    ];
  }
  return series.map((namedSeries) => {
    const i = findNearestIndex(namedSeries.points.t_ns, at, tolerance);
    return {
      name: namedSeries.name,
      ink: series.length > 1 ? namedSeries.ink : undefined,
      value: i < 0 ? undefined : (namedSeries.points.mean[i] ?? undefined),
      low: i < 0 ? undefined : (namedSeries.points.min[i] ?? undefined),
      high: i < 0 ? undefined : (namedSeries.points.max[i] ?? undefined),
    };
  });
}

/** Return the mean of each series over the brush, and its relative change from the baseline. */
export function compareValues(
  heat: Track | undefined,
  series: readonly NamedSeries[],
  brush: Range,
  baseline: Range | undefined,
): Line[] {
  const of = (
    get: (range: Range) => { mean: number } | undefined,
    name: string,
    ink: string | undefined,
  ): Line => {
    const b = get(brush)?.mean;
    const a = baseline ? get(baseline)?.mean : undefined;
    const change =
      baseline && a !== undefined && b !== undefined && a !== 0 ? (b - a) / Math.abs(a) : undefined;
    return { name: name || "⌀", ink, value: b, change };
  };
  if (heat?.matrix) {
    const { matrix } = heat;
    return [of((range) => computeMatrixStats(matrix, range), "⌀", undefined)];
  }
  return series.map((namedSeries) =>
    of(
      (range) => computeStats(namedSeries.points, range),
      namedSeries.name,
      series.length > 1 ? namedSeries.ink : undefined,
    ),
  );
}

/**
 * Return the values of a row over the visible range: minimum, mean and maximum of a matrix, also the last value of a
 * single series. Of several series return the means, with minimum and maximum as `low` and `high`.
 */
export function summarizeValues(
  heat: Track | undefined,
  series: readonly NamedSeries[],
  range: Range,
  names: { min: string; max: string; last: string },
): Line[] {
  const line = (name: string, value: number | undefined): Line => ({ name, ink: undefined, value });
  if (heat?.matrix) {
    const stats = computeMatrixStats(heat.matrix, range);
    if (!stats) return [];
    return [line(names.min, stats.min), line("⌀", stats.mean), line(names.max, stats.max)];
  }
  const [only] = series;
  if (series.length > 1)
    return series.map(({ name, ink, points }) => {
      const stats = computeStats(points, range);
      return { name: `⌀ ${name}`, ink, value: stats?.mean, low: stats?.min, high: stats?.max };
    });
  const stats = only && computeStats(only.points, range);
  if (!only || !stats) return [];
  const last = only.points.mean[findIndexAt(only.points.t_ns, range.to)] ?? undefined;
  return [
    line(names.min, stats.min),
    line("⌀", stats.mean),
    line(names.max, stats.max),
    line(names.last, last),
  ];
}

/** Return the DOM element of a value. Built without React, because it changes with each move of the cursor. */
export function valueNode(line: Line, unit: string, noData: string): HTMLElement {
  const node = document.createElement("span");
  node.className = classes.value ?? "";
  if (line.name) {
    const name = document.createElement("span");
    name.className = classes.valueName ?? "";
    name.textContent = line.name;
    if (line.ink) name.style.color = line.ink;
    node.append(name);
  }
  const number = document.createElement("span");
  number.className = classes.number ?? "";
  number.textContent = line.value === undefined ? noData : formatQuantity(line.value, unit);
  if (line.value === undefined) number.classList.add(classes.noValue ?? "");
  if (line.low !== undefined && line.high !== undefined && line.high - line.low > Math.abs(line.high) * 0.02)
    number.title = `${formatQuantity(line.low, unit)} – ${formatQuantity(line.high, unit)}`;
  node.append(number);
  if (line.change !== undefined) {
    const change = document.createElement("span");
    const percent = Math.round(line.change * 100);
    change.className = (percent > 0 ? classes.grew : percent < 0 ? classes.shrank : classes.same) ?? "";
    change.textContent = `${percent > 0 ? "+" : ""}${Math.abs(percent) > 999 ? `${Math.round(line.change + 1)}×` : `${percent} %`}`;
    node.append(change);
  }
  return node;
}
