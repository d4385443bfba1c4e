import type { Range } from "../time/range";

/** Heat map: a column for each `colNs` of time and `rows` rows, the first row at the bottom. */
export interface Heat {
  t0Ns: number;
  colNs: number;
  rows: number;
  /** [row][column]; NaN is no data. */
  counts: number[][];
}

export const countColumns = (heat: Heat): number => heat.counts[0]?.length ?? 0;

/** Return the time range of all columns. */
export const heatRange = (heat: Heat): Range => ({
  from: heat.t0Ns,
  to: heat.t0Ns + countColumns(heat) * heat.colNs,
});

/** Return the largest count, at least 1. It has the strongest color. */
export function findPeakCount(heat: Heat): number {
  let max = 1;
  for (const row of heat.counts) for (const value of row) if (value > max) max = value;
  return max;
}

/** Return the color strength of a cell (0..1). The square root distinguishes small counts from zero. */
export const toColorStrength = (count: number, max: number): number =>
  count <= 0 ? 0 : 0.12 + 0.88 * Math.sqrt(Math.min(1, count / max));

/** Return the time range between two x positions (0..1 of the width), snapped outward to quarters of a column. */
export function snapBrush(heat: Heat, from: number, to: number): Range {
  const n = countColumns(heat);
  const cellNs = heat.colNs / 4;
  const whole = n * heat.colNs;
  const low = Math.min(Math.max(Math.min(from, to), 0), 1);
  const high = Math.min(Math.max(Math.max(from, to), 0), 1);
  const start = Math.floor((low * whole) / cellNs) * cellNs;
  const end = Math.max(start + cellNs, Math.ceil((high * whole) / cellNs) * cellNs);
  return { from: heat.t0Ns + start, to: heat.t0Ns + Math.min(end, whole) };
}
