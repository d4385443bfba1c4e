/** Axes of a graph whose boxes are in the order of samples: their weights, and their times. */
import { roundTicks } from "../charts/chartScale";
import { type FlameNode, walk } from "./flame";

/** Return about `count` round weights from 0 to at most `total`. Samples and events are whole, bytes are powers of two. */
export function listWeightTicks(
  total: number,
  count: number,
  unit: "samples" | "count" | "ns" | "bytes",
): number[] {
  if (!(total > 0)) return [0];
  const rough = total / Math.max(1, count);
  const round = unit === "bytes" ? 2 ** Math.ceil(Math.log2(rough)) : (roundTicks(total, count)[1] ?? total);
  const step = Math.max(1, round);
  const ticks: number[] = [];
  for (let n = 0; n * step <= total; n += 1) ticks.push(n * step);
  return ticks;
}

/** A time that a sample has, and the weight of the samples before it. */
export interface SampleTime {
  weight: number;
  ns: number;
}

/** Return the times of the first and the last sample of each box, in order. Boxes without times are left out. */
export function listSampleTimes(tree: FlameNode): SampleTime[] {
  const times: SampleTime[] = [];
  for (const { node } of walk(tree)) {
    const { start, first_ns, last_ns, value } = node;
    if (start === undefined || first_ns === undefined || last_ns === undefined) continue;
    times.push({ weight: start, ns: first_ns }, { weight: start + value, ns: last_ns });
  }
  return times.sort((x, y) => x.weight - y.weight || x.ns - y.ns);
}

/** Return the weight of the samples before a time, between the two known times that are next to it. */
export function findWeightAt(times: readonly SampleTime[], ns: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((times[middle] as SampleTime).ns <= ns) low = middle + 1;
    else high = middle;
  }
  const before = times[low - 1];
  const after = times[low];
  if (!before || !after) return (before ?? after)?.weight ?? 0;
  return before.weight + ((ns - before.ns) / (after.ns - before.ns)) * (after.weight - before.weight);
}

export interface AxisLabel {
  /** Position in px. */
  x: number;
  /** "" if there is no room for the text. */
  text: string;
}

/** Return the labels without the texts that would overlap the text before them, or the right edge at `width` px. */
export function dropOverlaps(labels: readonly AxisLabel[], width: number, letterPx: number): AxisLabel[] {
  let free = 0;
  return labels.map(({ x, text }) => {
    const end = x + (text.length + 2) * letterPx;
    if (!text || x < free || end > width) return { x, text: "" };
    free = end;
    return { x, text };
  });
}
