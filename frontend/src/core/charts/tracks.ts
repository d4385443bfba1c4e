import type { Range } from "../time/range";

/** One track as the server sends it, reduced to what drawing needs. */
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

/** What the catalog defines for the track of a metric. */
export interface MetricTrack {
  readonly id: string;
  readonly unit: string;
  readonly axis: string | null;
  readonly track: { readonly group: string; readonly order: number; readonly kind: string };
}

/** One row of the timeline: a metric with all its label sets, or one matrix of a metric. */
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

/** `a=1,b=2`, sorted: the same labels always give the same text. */
export const labelText = (labels: Readonly<Record<string, string>>): string =>
  Object.entries(labels)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}=${value}`)
    .join(",");

/** The key of the row that draws a track: of its metric, or of its labels too where it is a matrix. */
export function rowKey(
  track: { metric: string; labels: Readonly<Record<string, string>>; axis: string | null },
  kind: string | undefined,
): string {
  return track.axis !== null && (kind ?? "heatmap") === "heatmap" && Object.keys(track.labels).length > 0
    ? `${track.metric}{${labelText(track.labels)}}`
    : track.metric;
}

/**
 * The rows for the tracks that a host has: one per metric, but one per label set where it is a matrix.
 * Metrics that the catalog does not know come last, in a group of their own.
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
 * The samples from index `first` to `last` in pieces without a pause: a piece ends where a gap begins or
 * where a value is missing. Gaps ascend and do not overlap.
 */
export function pieces(
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

/** One series per axis value, for matrices that are drawn as lines. */
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

/** Tracks that matter first on an unhealthy host. All others are in the picker. */
const FIRST = new Set([
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

/** The rows that are on by default; of a group without any such row the first two. */
export function defaultRows(groups: readonly TrackGroup[]): Set<string> {
  const out = new Set<string>();
  for (const group of groups) {
    const first = group.rows.filter((row) => FIRST.has(row.key));
    for (const row of first.length > 0 ? first : group.rows.slice(0, 2)) out.add(row.key);
  }
  return out;
}

/** What the reader changed about the default, as `+key` and `-key`. */
export function applyChoice(defaults: ReadonlySet<string>, changes: readonly string[]): Set<string> {
  const out = new Set(defaults);
  for (const change of changes) {
    const key = change.slice(1);
    if (change.startsWith("-")) out.delete(key);
    else if (change.startsWith("+")) out.add(key);
  }
  return out;
}

export function choiceChanges(defaults: ReadonlySet<string>, visible: ReadonlySet<string>): string[] {
  const out: string[] = [];
  for (const key of defaults) if (!visible.has(key)) out.push(`-${key}`);
  for (const key of visible) if (!defaults.has(key)) out.push(`+${key}`);
  return out.sort();
}

/** Index of the last time ≤ t; -1 where there is none. Times ascend. */
export function indexAt(times: readonly number[], t: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((times[middle] as number) <= t) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Index of the sample nearest to t that is no further than `tolerance`; -1 in a gap. */
export function nearest(times: readonly number[], t: number, tolerance: number): number {
  const before = indexAt(times, t);
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

/** The usual distance between neighbouring samples: their median. */
export function medianStep(times: readonly number[]): number {
  const steps: number[] = [];
  const stride = Math.max(1, Math.floor(times.length / 200));
  for (let i = 1; i < times.length; i += stride) steps.push((times[i] as number) - (times[i - 1] as number));
  steps.sort((a, b) => a - b);
  return steps[Math.floor(steps.length / 2)] ?? 1e9;
}

export interface Stats {
  readonly n: number;
  readonly min: number;
  readonly mean: number;
  readonly max: number;
}

/** Statistics of the drawn points of a series in a range; undefined where it holds none. */
export function statsIn(points: Points, range: Range): Stats | undefined {
  let n = 0;
  let sum = 0;
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  for (let i = indexAt(points.t_ns, range.from - 1) + 1; i < points.t_ns.length; i += 1) {
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

/** The same over all rows of a matrix. */
export function matrixStatsIn(matrix: Matrix, range: Range): Stats | undefined {
  let n = 0;
  let sum = 0;
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  const first = indexAt(matrix.t_ns, range.from - 1) + 1;
  const last = indexAt(matrix.t_ns, range.to);
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

/** The largest value of every time of a matrix; NaN where there is none. */
export function largest(matrix: Matrix): Float64Array {
  const out = new Float64Array(matrix.t_ns.length).fill(Number.NaN);
  for (let i = 0; i < out.length; i += 1)
    for (const value of matrix.values[i] ?? [])
      if (value !== null && value !== undefined && !(value <= (out[i] as number))) out[i] = value;
  return out;
}

/** The largest of these within a range; 0 where there is none. */
export function largestIn(times: readonly number[], values: Float64Array, range: Range): number {
  let most = 0;
  for (
    let i = indexAt(times, range.from - 1) + 1;
    i < times.length && (times[i] as number) <= range.to;
    i += 1
  )
    if ((values[i] as number) > most) most = values[i] as number;
  return most;
}

/** A round number ≥ value for the top of a scale: 1, 2, 2.5, 5 × 10^n. */
export function niceCeil(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  for (const step of [1, 2, 2.5, 5, 10]) if (step * power >= value * 0.999999) return step * power;
  return 10 * power;
}

const BINARY = new Set(["kb", "bytes", "kb_per_s", "bytes_per_s"]);

/** A round top in the steps that the unit is written in; a percentage ends at 100 unless values exceed it. */
export function niceTop(value: number, unit: string): number {
  if (unit === "pct" && value > 50 && value <= 100) return 100;
  if (!BINARY.has(unit) || !(value > 0)) return niceCeil(value);
  const power = 1024 ** Math.floor(Math.log(value) / Math.log(1024));
  return niceCeil(value / power) * power;
}

/** The scale for what is seen: from zero (or below, where values are) to a round top. */
export function scaleFor(series: readonly Points[], range: Range, unit = ""): { low: number; high: number } {
  let low = 0;
  let high = 0;
  for (const points of series) {
    const stats = statsIn(points, range);
    if (!stats) continue;
    low = Math.min(low, stats.min);
    high = Math.max(high, stats.max);
  }
  return { low: low < 0 ? -niceTop(-low, unit) : 0, high: niceTop(high, unit) };
}

/**
 * The range to ask the server for when `view` is looked at: aligned to a power of two, with room on both
 * sides, so that small movements ask for nothing new.
 */
export function fetchRange(view: Range): Range {
  const cell = 2 ** Math.ceil(Math.log2(Math.max(view.to - view.from, 2) / 2));
  return { from: Math.floor(view.from / cell) * cell - cell, to: Math.ceil(view.to / cell) * cell + cell };
}

/** Things at x, joined where they are closer than `apart` pixels. */
export function clusters<T>(
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
