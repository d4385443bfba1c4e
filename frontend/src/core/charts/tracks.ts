import type { Range } from "../time/range";

/** Track of the API, with only the fields that rendering needs. */
export interface TrackData {
  readonly metric: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly unit: string;
  readonly axis: string | null;
  readonly axis_values: readonly string[] | null;
  readonly points?: Points | null | undefined;
  readonly matrix?: Matrix | null | undefined;
  readonly gaps: readonly (readonly [number, number])[];
}

export interface Points {
  readonly t_ns: readonly number[];
  readonly min: readonly (number | null)[];
  readonly mean: readonly (number | null)[];
  readonly max: readonly (number | null)[];
}

/** `values[i][k]` is the value at time i of axis value k. */
export interface Matrix {
  readonly t_ns: readonly number[];
  readonly values: readonly (readonly (number | null)[])[];
}

/** Metric of the catalog, with the fields of its track. */
export interface MetricTrack {
  readonly id: string;
  readonly unit: string;
  readonly axis: string | null;
  readonly track: { readonly group: string; readonly order: number; readonly kind: string };
}

/** Row of the timeline: a metric with all its label sets, or a matrix with one label set. */
export interface TrackRow {
  readonly key: string;
  readonly metric: string;
  readonly labels: Readonly<Record<string, string>> | undefined;
  readonly kind: "line" | "area" | "step" | "heatmap";
  readonly group: string;
  readonly order: number;
  readonly unit: string;
}

export interface TrackGroup {
  readonly id: string;
  readonly rows: readonly TrackRow[];
}

/** Return labels as text, sorted by name: `a=1,b=2`. */
export const labelText = (labels: Readonly<Record<string, string>>): string =>
  Object.entries(labels)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}=${value}`)
    .join(",");

/** Return the key of the row of a track: its metric, or `metric{labels}` for a matrix with labels. */
export function rowKey(
  track: { metric: string; labels: Readonly<Record<string, string>>; axis: string | null },
  kind: string | undefined,
): string {
  return track.axis !== null && (kind ?? "heatmap") === "heatmap" && Object.keys(track.labels).length > 0
    ? `${track.metric}{${labelText(track.labels)}}`
    : track.metric;
}

/**
 * Return the rows for the tracks of a host by group: a row per metric, of a matrix a row per label set. Metrics that
 * are not in the catalog are last, in the group `other`.
 */
export function buildGroups(
  present: readonly { metric: string; labels: Readonly<Record<string, string>>; axis: string | null }[],
  catalog: readonly MetricTrack[],
): TrackGroup[] {
  const known = new Map(catalog.map((metric) => [metric.id, metric]));
  const rows = new Map<string, TrackRow>();
  for (const track of present) {
    const about = known.get(track.metric);
    const matrix = track.axis !== null && (about?.track.kind ?? "heatmap") === "heatmap";
    const key = rowKey(track, about?.track.kind);
    if (rows.has(key)) continue;
    const kind = about?.track.kind;
    rows.set(key, {
      key,
      metric: track.metric,
      labels: matrix ? track.labels : undefined,
      kind: matrix ? "heatmap" : kind === "area" || kind === "step" ? kind : "line",
      group: about?.track.group ?? "other",
      order: about?.track.order ?? Number.MAX_SAFE_INTEGER,
      unit: about?.unit ?? "",
    });
  }
  const groups = new Map<string, TrackRow[]>();
  for (const row of [...rows.values()].sort((a, b) => a.order - b.order || (a.key < b.key ? -1 : 1))) {
    const list = groups.get(row.group);
    if (list) list.push(row);
    else groups.set(row.group, [row]);
  }
  return [...groups].map(([id, list]) => ({ id, rows: list }));
}

/**
 * Return the sample indexes from `first` to `last` as continuous pieces. A piece ends at a gap or a missing value. Gaps
 * must be ascending and must not overlap.
 */
export function listContinuousSegments(
  points: Points,
  gaps: readonly (readonly [number, number])[],
  first: number,
  last: number,
): number[][] {
  const out: number[][] = [];
  let piece: number[] = [];
  let g = 0;
  for (let i = first; i <= last; i += 1) {
    const t = points.t_ns[i] as number;
    const value = points.mean[i];
    if (value === null || value === undefined) {
      piece = [];
      continue;
    }
    const before = piece.length > 0 ? (points.t_ns[piece[piece.length - 1] as number] as number) : undefined;
    if (before !== undefined) {
      while (g < gaps.length && (gaps[g] as readonly [number, number])[1] <= before) g += 1;
      const gap = gaps[g];
      if (gap && gap[0] < t && gap[1] > before) piece = [];
    }
    if (piece.length === 0) out.push(piece);
    piece.push(i);
  }
  return out;
}

/** Return a series for each axis value of a matrix, to render it as lines. */
export function splitMatrix(track: TrackData): { name: string; points: Points }[] {
  const matrix = track.matrix;
  if (!matrix) return [];
  return (track.axis_values ?? []).map((name, k) => {
    const column = matrix.values.map((row) => row[k] ?? null);
    return {
      name: `${track.axis}${name}`,
      points: { t_ns: matrix.t_ns, min: column, mean: column, max: column },
    };
  });
}

/** Keys of the tracks that are visible by default. Users select other tracks in the track picker. */
const DEFAULT_ROW_KEYS = new Set([
  "cpu.total_busy_pct",
  "cpu.total_sys_pct",
  "cpu.total_iowait_pct",
  "cpu.total_steal_pct",
  "cpu.busy_pct",
  "load.avg1",
  "sched.runq",
  "sched.blocked",
  "sched.switches_per_s",
  "softirq.rate_per_s{vector=NET_RX}",
  "softirq.rate_per_s{vector=TIMER}",
  "softirq.rate_per_s{vector=SCHED}",
  "mem.available_kb",
  "mem.pgmajfault_per_s",
  "mem.swap_in_kb_per_s",
  "psi.some_pct",
  "psi.full_pct",
  "disk.util_pct",
  "disk.r_await_ms",
  "disk.w_await_ms",
  "net.rx_mb_s",
  "net.tx_mb_s",
  "net.rx_drop_per_s",
  "tcp.retrans_segs_per_s",
  "tcp.listen_overflows_per_s",
  "numa.other_node_per_s",
]);

/** Return the keys of rows that are visible by default. A group without such a row has its first two rows. */
export function defaultRows(groups: readonly TrackGroup[]): Set<string> {
  const out = new Set<string>();
  for (const group of groups) {
    const first = group.rows.filter((row) => DEFAULT_ROW_KEYS.has(row.key));
    for (const row of first.length > 0 ? first : group.rows.slice(0, 2)) out.add(row.key);
  }
  return out;
}

/** Return the visible rows: the defaults with the user's changes, `+key` and `-key`. */
export function applyRowChanges(defaults: ReadonlySet<string>, changes: readonly string[]): Set<string> {
  const out = new Set(defaults);
  for (const change of changes) {
    const key = change.slice(1);
    if (change.startsWith("-")) out.delete(key);
    else if (change.startsWith("+")) out.add(key);
  }
  return out;
}

/** Return the changes from the defaults to the visible rows; the inverse of `applyRowChanges`. */
export function diffRowChoice(defaults: ReadonlySet<string>, visible: ReadonlySet<string>): string[] {
  const out: string[] = [];
  for (const key of defaults) if (!visible.has(key)) out.push(`-${key}`);
  for (const key of visible) if (!defaults.has(key)) out.push(`+${key}`);
  return out.sort();
}

/** Return the index of the last time ≤ t, or -1. Times must be ascending. */
export function findIndexAt(times: readonly number[], t: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((times[middle] as number) <= t) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Return the index of the sample nearest to t, or -1 if none is within `tolerance`. */
export function findNearestIndex(times: readonly number[], t: number, tolerance: number): number {
  const before = findIndexAt(times, t);
  const candidates = [before, before + 1].filter((i) => i >= 0 && i < times.length);
  let best = -1;
  let distance = tolerance;
  for (const i of candidates) {
    const d = Math.abs((times[i] as number) - t);
    if (d <= distance) {
      best = i;
      distance = d;
    }
  }
  return best;
}

/** Return the median interval between adjacent samples, from at most about 200 of them; 1e9 without samples. */
export function medianStep(times: readonly number[]): number {
  const steps: number[] = [];
  const stride = Math.max(1, Math.floor(times.length / 200));
  for (let i = 1; i < times.length; i += stride) steps.push((times[i] as number) - (times[i - 1] as number));
  steps.sort((a, b) => a - b);
  return steps[Math.floor(steps.length / 2)] ?? 1e9;
}

export interface SeriesStats {
  readonly n: number;
  readonly min: number;
  readonly mean: number;
  readonly max: number;
}

/** Return statistics of the points of a series in a range, or undefined if it has none. */
export function computeStats(points: Points, range: Range): SeriesStats | undefined {
  let n = 0;
  let sum = 0;
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  for (let i = findIndexAt(points.t_ns, range.from - 1) + 1; i < points.t_ns.length; i += 1) {
    if ((points.t_ns[i] as number) > range.to) break;
    const mean = points.mean[i];
    if (mean === null || mean === undefined) continue;
    n += 1;
    sum += mean;
    min = Math.min(min, points.min[i] ?? mean);
    max = Math.max(max, points.max[i] ?? mean);
  }
  return n > 0 ? { n, min, mean: sum / n, max } : undefined;
}

/** Return statistics of all values of a matrix in a range, or undefined if it has none. */
export function computeMatrixStats(matrix: Matrix, range: Range): SeriesStats | undefined {
  let n = 0;
  let sum = 0;
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  const first = findIndexAt(matrix.t_ns, range.from - 1) + 1;
  const last = findIndexAt(matrix.t_ns, range.to);
  for (let i = first; i <= last; i += 1)
    for (const value of matrix.values[i] ?? []) {
      if (value === null || value === undefined) continue;
      n += 1;
      sum += value;
      min = Math.min(min, value);
      max = Math.max(max, value);
    }
  return n > 0 ? { n, min, mean: sum / n, max } : undefined;
}

/** Return the largest value of a matrix at each time, NaN without a value. */
export function toMaximumByTime(matrix: Matrix): Float64Array {
  const out = new Float64Array(matrix.t_ns.length).fill(Number.NaN);
  for (let i = 0; i < out.length; i += 1)
    for (const value of matrix.values[i] ?? [])
      if (value !== null && value !== undefined && !(value <= (out[i] as number))) out[i] = value;
  return out;
}

/** Return the largest value in a range, at least 0. */
export function findMaximumIn(times: readonly number[], values: Float64Array, range: Range): number {
  let most = 0;
  for (
    let i = findIndexAt(times, range.from - 1) + 1;
    i < times.length && (times[i] as number) <= range.to;
    i += 1
  )
    if ((values[i] as number) > most) most = values[i] as number;
  return most;
}

/** Return a round number ≥ value for the top of a scale: 1, 2, 2.5 or 5 × 10^n. */
export function roundUpNicely(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  for (const step of [1, 2, 2.5, 5, 10]) if (step * power >= value * 0.999999) return step * power;
  return 10 * power;
}

const BINARY = new Set(["kb", "bytes", "kb_per_s", "bytes_per_s"]);

/** Return a round top of a scale, by powers of 1024 for bytes. Percentages from 50 to 100 have the top 100. */
export function findScaleTop(value: number, unit: string): number {
  if (unit === "pct" && value > 50 && value <= 100) return 100;
  if (!BINARY.has(unit) || !(value > 0)) return roundUpNicely(value);
  const power = 1024 ** Math.floor(Math.log(value) / Math.log(1024));
  return roundUpNicely(value / power) * power;
}

/** Return the scale for the values in `range`: from zero, or a round negative number, to a round top. */
export function scaleFor(series: readonly Points[], range: Range, unit = ""): { low: number; high: number } {
  let low = 0;
  let high = 0;
  for (const points of series) {
    const stats = computeStats(points, range);
    if (!stats) continue;
    low = Math.min(low, stats.min);
    high = Math.max(high, stats.max);
  }
  return { low: low < 0 ? -findScaleTop(-low, unit) : 0, high: findScaleTop(high, unit) };
}

/**
 * Return the range to request for the visible range `view`: aligned to a power of two and larger on both sides, so that
 * small movements send no request.
 */
export function fetchRange(view: Range): Range {
  const cell = 2 ** Math.ceil(Math.log2(Math.max(view.to - view.from, 2) / 2));
  return { from: Math.floor(view.from / cell) * cell - cell, to: Math.ceil(view.to / cell) * cell + cell };
}

/** Group items by x position: an item closer than `apart` px to the first item of the last group joins it. */
export function clusterByPosition<T>(
  things: readonly T[],
  x: (thing: T) => number,
  apart: number,
): { x: number; things: T[] }[] {
  const out: { x: number; things: T[] }[] = [];
  for (const thing of [...things].sort((a, b) => x(a) - x(b))) {
    const last = out[out.length - 1];
    const at = x(thing);
    if (last && at - last.x < apart) last.things.push(thing);
    else out.push({ x: at, things: [thing] });
  }
  return out;
}
