/** The arithmetic of small charts over one time axis: stacks, paths with pauses, and what is nearest to a cursor. */

type Value = number | null;
export type Values = readonly Value[];

/** What one part of a stack covers at each time: from `low` to `high`, null where it has no reading. */
export interface Layer {
  readonly low: Values;
  readonly high: Values;
}

/** Tracks on top of each other, the first at the bottom; what has no reading lifts nothing. */
export function stackLayers(tracks: readonly Values[]): Layer[] {
  const below: number[] = [];
  return tracks.map((values) => {
    const low = values.map((value, i) => (value === null ? null : (below[i] ?? 0)));
    const high = values.map((value, i) => (value === null ? null : (below[i] ?? 0) + value));
    for (const [i, value] of high.entries()) if (value !== null) below[i] = value;
    return { low, high };
  });
}

/** The largest value; 0 where there is none. */
export const maximum = (tracks: readonly Values[]): number => {
  let out = 0;
  for (const values of tracks) for (const value of values) if (value !== null && value > out) out = value;
  return out;
};

/** The stretches without a pause, as indices. */
export function stretches(values: Values): number[][] {
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

type Place = (i: number) => number;

/** A path through the readings that never crosses a pause; a lone reading is a short dash. */
export function linePath(values: Values, x: Place, y: (value: number) => number): string {
  return stretches(values)
    .map((indices) => {
      const [first = 0] = indices;
      if (indices.length === 1) return `M${short(x(first) - 2)} ${short(y(values[first] as number))}h4`;
      return `M${indices.map((i) => `${short(x(i))} ${short(y(values[i] as number))}`).join("L")}`;
    })
    .join("");
}

/** The area between two rows of readings; a lone reading is a thin bar. */
export function areaPath({ low, high }: Layer, x: Place, y: (value: number) => number): string {
  return stretches(high)
    .map((indices) => {
      const [first = 0] = indices;
      const wide = indices.length === 1;
      const left = (i: number) => x(i) - (wide ? 2 : 0);
      const right = (i: number) => x(i) + (wide ? 2 : 0);
      const up = indices.map((i) => `${short(left(i))} ${short(y(high[i] as number))}`);
      if (wide) up.push(`${short(right(first))} ${short(y(high[first] as number))}`);
      const down = [...indices].reverse().map((i) => `${short(right(i))} ${short(y(low[i] ?? 0))}`);
      if (wide) down.push(`${short(left(first))} ${short(y(low[first] ?? 0))}`);
      return `M${[...up, ...down].join("L")}Z`;
    })
    .join("");
}

const short = (px: number): string => String(Math.round(px * 10) / 10);

/** The times without a reading, as pairs of indices of the readings around them; -1 is before the first. */
export function pauses(tracks: readonly Values[], n: number): [number, number][] {
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

/** All times of several rows, ascending, each once. */
export const union = (rows: readonly (readonly number[])[]): number[] =>
  [...new Set(rows.flat())].sort((a, b) => a - b);

/** Where dots at `xs` stand above and below a line so that they do not hide each other, at most `room` away. */
export function swarm(xs: readonly number[], radius: number, room: number): number[] {
  const step = radius * 2;
  const taken = new Map<number, number>();
  return xs.map((x) => {
    const cell = Math.round(x / step);
    const n = taken.get(cell) ?? 0;
    taken.set(cell, n + 1);
    const away = Math.ceil(n / 2) * step * (n % 2 === 0 ? 1 : -1);
    return Math.max(-room, Math.min(room, away));
  });
}

/** The counts of each bucket as percent of all, over the same number of buckets. */
export function shares(counts: readonly number[], buckets: number): number[] {
  const all = counts.reduce((sum, count) => sum + count, 0);
  return Array.from({ length: buckets }, (_, i) => (all > 0 ? (100 * (counts[i] ?? 0)) / all : 0));
}

/** Where a time is on the axis of buckets with these lower edges, from 0 to their number: linear within a bucket. */
export function bucketAt(value: number, edges: readonly number[]): number {
  for (let i = edges.length - 1; i >= 0; i -= 1) {
    const from = edges[i] as number;
    if (value < from) continue;
    const to = edges[i + 1] ?? Math.max(1, from * 2);
    return i + Math.min(1, (value - from) / Math.max(to - from, 1e-9));
  }
  return 0;
}

/** An axis for values: from zero, or the lowest where that is below, to the highest. */
export function extent(values: readonly number[]): { from: number; to: number } {
  let from = 0;
  let to = 0;
  for (const value of values) {
    from = Math.min(from, value);
    to = Math.max(to, value);
  }
  return { from, to: to > from ? to : from + 1 };
}

/** Index and mean of each row over the chosen columns, the greatest first; rows without a reading are left out. */
export function rowMeans(rows: readonly Values[], chosen: readonly boolean[]): [number, number][] {
  const out: [number, number][] = [];
  for (const [i, row] of rows.entries()) {
    const known = row.filter((item, at): item is number => item !== null && chosen[at] === true);
    if (known.length > 0) out.push([i, known.reduce((sum, item) => sum + item, 0) / known.length]);
  }
  return out.sort(([, a], [, b]) => b - a);
}
