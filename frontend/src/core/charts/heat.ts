import type { Range } from "../time/range";

/** Samples by time: a column per `colNs`, a row per `rowNs` within the column, the first row at the bottom. */
export interface Heat {
  t0Ns: number;
  colNs: number;
  rows: number;
  /** [row][column]; NaN is no data. */
  counts: number[][];
}

export const columns = (heat: Heat): number => heat.counts[0]?.length ?? 0;

/** The whole time that the columns cover. */
export const heatRange = (heat: Heat): Range => ({
  from: heat.t0Ns,
  to: heat.t0Ns + columns(heat) * heat.colNs,
});

/** The busiest cell, the full strength of the color; at least 1. */
export function peak(heat: Heat): number {
  let max = 1;
  for (const row of heat.counts) for (const value of row) if (value > max) max = value;
  return max;
}

/** Lightness weight of a cell in 0..1: the square root distinguishes a quiet second from an empty one. */
export const strength = (count: number, max: number): number =>
  count <= 0 ? 0 : 0.12 + 0.88 * Math.sqrt(Math.min(1, count / max));

/** The range between two points of the drawing, both given as shares of its width, snapped to cells. */
export function brushedColumns(heat: Heat, from: number, to: number): Range {
  const n = columns(heat);
  const cellNs = heat.colNs / 4;
  const whole = n * heat.colNs;
  const low = Math.min(Math.max(Math.min(from, to), 0), 1);
  const high = Math.min(Math.max(Math.max(from, to), 0), 1);
  const start = Math.floor((low * whole) / cellNs) * cellNs;
  const end = Math.max(start + cellNs, Math.ceil((high * whole) / cellNs) * cellNs);
  return { from: heat.t0Ns + start, to: heat.t0Ns + Math.min(end, whole) };
}
