/** Geometry of small charts: stacked layers, SVG paths with gaps, dots, buckets and value axes. */

type Value = number | null;
export type Values = readonly Value[];

/** Layer of a stacked chart: from `low` to `high` at each time, null without a reading. */
export interface Layer {
  readonly low: Values;
  readonly high: Values;
}

/** Return the tracks as stacked layers, the first at the bottom. A missing reading counts as zero for later layers. */
export function stackLayers(tracks: readonly Values[]): Layer[] {
  const below: number[] = [];
  return tracks.map((values) => {
    const low = values.map((value, i) => (value === null ? null : (below[i] ?? 0)));
    const high = values.map((value, i) => (value === null ? null : (below[i] ?? 0) + value));
    for (const [i, value] of high.entries()) if (value !== null) below[i] = value;
    return { low, high };
  });
}

/** Return the largest value of all tracks, at least 0. */
export const findMaximum = (tracks: readonly Values[]): number => {
  let out = 0;
  for (const values of tracks) for (const value of values) if (value !== null && value > out) out = value;
  return out;
};

/** Return the indices of values in stretches without a null. */
export function splitAtGaps(values: Values): number[][] {
  const out: number[][] = [];
  let open: number[] | undefined;
  for (const [i, value] of values.entries()) {
    if (value === null) open = undefined;
    else if (open) open.push(i);
    else {
      open = [i];
      out.push(open);
    }
  }
  return out;
}

type IndexToX = (i: number) => number;

/** Return an SVG path through the readings, interrupted at gaps. A single reading is a short dash. */
export function linePath(values: Values, x: IndexToX, y: (value: number) => number): string {
  return splitAtGaps(values)
    .map((indices) => {
      const [first = 0] = indices;
      if (indices.length === 1) return `M${roundPx(x(first) - 2)} ${roundPx(y(values[first] as number))}h4`;
      return `M${indices.map((i) => `${roundPx(x(i))} ${roundPx(y(values[i] as number))}`).join("L")}`;
    })
    .join("");
}

/** Return an SVG path of the area of a layer, interrupted at gaps. A single reading is a thin bar. */
export function areaPath({ low, high }: Layer, x: IndexToX, y: (value: number) => number): string {
  return splitAtGaps(high)
    .map((indices) => {
      const [first = 0] = indices;
      const wide = indices.length === 1;
      const left = (i: number) => x(i) - (wide ? 2 : 0);
      const right = (i: number) => x(i) + (wide ? 2 : 0);
      const up = indices.map((i) => `${roundPx(left(i))} ${roundPx(y(high[i] as number))}`);
      if (wide) up.push(`${roundPx(right(first))} ${roundPx(y(high[first] as number))}`);
      const down = [...indices].reverse().map((i) => `${roundPx(right(i))} ${roundPx(y(low[i] ?? 0))}`);
      if (wide) down.push(`${roundPx(left(first))} ${roundPx(y(low[first] ?? 0))}`);
      return `M${[...up, ...down].join("L")}Z`;
    })
    .join("");
}

const roundPx = (px: number): string => String(Math.round(px * 10) / 10);

/** Return the gaps of all tracks as index pairs of the readings around them: -1 before the first, `n` after the last. */
export function listGaps(tracks: readonly Values[], n: number): [number, number][] {
  const out: [number, number][] = [];
  let last = -1;
  for (let i = 0; i < n; i += 1) {
    if (!tracks.some((values) => (values[i] ?? null) !== null)) continue;
    if (i - last > 1) out.push([last, i]);
    last = i;
  }
  if (last < n - 1) out.push([last, n]);
  return out;
}

/** Return the distinct times of all rows, ascending. */
export const mergeTimes = (rows: readonly (readonly number[])[]): number[] =>
  [...new Set(rows.flat())].sort((a, b) => a - b);

/** Return y offsets of dots at `xs` so that they do not overlap, from `-room` to `room` px (a beeswarm plot). */
export function layOutBeeswarm(xs: readonly number[], radius: number, room: number): number[] {
  const step = radius * 2;
  const dotsInCell = new Map<number, number>();
  return xs.map((x) => {
    const cell = Math.round(x / step);
    const n = dotsInCell.get(cell) ?? 0;
    dotsInCell.set(cell, n + 1);
    const offset = Math.ceil(n / 2) * step * (n % 2 === 0 ? 1 : -1);
    return Math.max(-room, Math.min(room, offset));
  });
}

/** Return the counts as percent of their sum, padded with zeros to `buckets` entries. */
export function toPercentages(counts: readonly number[], buckets: number): number[] {
  const all = counts.reduce((sum, count) => sum + count, 0);
  return Array.from({ length: buckets }, (_, i) => (all > 0 ? (100 * (counts[i] ?? 0)) / all : 0));
}

/** Return the position of a value on an axis of buckets, from 0 to their number. `edges` are their lower edges. */
export function toBucketPosition(value: number, edges: readonly number[]): number {
  for (let i = edges.length - 1; i >= 0; i -= 1) {
    const from = edges[i] as number;
    if (value < from) continue;
    const to = edges[i + 1] ?? Math.max(1, from * 2);
    return i + Math.min(1, (value - from) / Math.max(to - from, 1e-9));
  }
  return 0;
}

/** Return the range of a value axis: from zero or the minimum, if negative, to the maximum. It is never empty. */
export function findValueRange(values: readonly number[]): { from: number; to: number } {
  let from = 0;
  let to = 0;
  for (const value of values) {
    from = Math.min(from, value);
    to = Math.max(to, value);
  }
  return { from, to: to > from ? to : from + 1 };
}

/** Return [index, mean] of each row over the chosen columns, largest first. Rows without readings are omitted. */
export function rankRowMeans(rows: readonly Values[], chosen: readonly boolean[]): [number, number][] {
  const out: [number, number][] = [];
  for (const [i, row] of rows.entries()) {
    const known = row.filter((item, at): item is number => item !== null && chosen[at] === true);
    if (known.length > 0) out.push([i, known.reduce((sum, item) => sum + item, 0) / known.length]);
  }
  return out.sort(([, a], [, b]) => b - a);
}
