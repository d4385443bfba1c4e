/** Comparison of two profiles: A is before, B after. Weights are normalized by the total of each side. */

import { formatDuration, formatNumber, formatPercent } from "../text/format";
import type { Message } from "../text/messages";
import type { FlameNode, PathStep } from "./flame";

/** State of a comparison. A side is the sum of `profiles` profiles; `profile_id` is the first of them. */
export interface DiffState {
  id: string;
  state: "queued" | "running" | "ready" | "failed";
  a: { profile_id: string; profiles: number };
  b: { profile_id: string; profiles: number };
  failure: Message | null;
}

export const isComparisonBuilt = ({ state }: DiffState): boolean => state === "ready" || state === "failed";

/** Divisor of weights: samples, CPU seconds, seconds of the recording, or units of work. */
export const NORMALIZATIONS = ["share", "cpu", "wall", "work"] as const;
export type Normalization = (typeof NORMALIZATIONS)[number];

export interface DiffHead {
  normalize: Normalization;
  unit: "samples" | "ns" | "bytes" | "count";
  exposure_a: number;
  exposure_b: number;
}

export interface DiffTree extends DiffHead {
  tree: FlameNode;
  path?: PathStep[];
  vanished: DiffPath[];
  new: DiffPath[];
  /** Base name → function names that were merged into it. */
  merged: Record<string, readonly string[]>;
}

/** Stack that only one side has. */
export interface DiffPath {
  path: string[];
  node: number;
  a?: number;
  b?: number;
  changed: boolean;
}

/** Return the text of a normalized weight: a share of samples or CPU time, or a rate per second or per request. */
export function formatWeight(value: number, { normalize, unit }: DiffHead): string {
  if (normalize === "share" || normalize === "cpu") return formatPercent(value);
  return `${unit === "ns" ? formatDuration(value) : formatNumber(value)}/${normalize === "wall" ? "s" : "req"}`;
}

const divideByExposure = (weight: number, exposure: number): number => (exposure > 0 ? weight / exposure : 0);

/** Return the text of a difference with its sign, such as `▲ +28.1 %`; `0 %` for no difference. */
export function formatWeightChange(delta: number, head: DiffHead): string {
  const sign = delta > 0 ? "▲ +" : delta < 0 ? "▼ −" : "";
  return `${sign}${formatWeight(Math.abs(delta), head)}`;
}

/** Return both sides of a frame as text, such as `A 12.1 % → B 40.2 %  ▲ +28.1 %`. */
export function formatBothSides(node: Pick<FlameNode, "a" | "b" | "delta">, head: DiffHead): string {
  const a = divideByExposure(node.a ?? 0, head.exposure_a);
  const b = divideByExposure(node.b ?? 0, head.exposure_b);
  return `A ${formatWeight(a, head)} → B ${formatWeight(b, head)}  ${formatWeightChange(node.delta ?? b - a, head)}`;
}

/** Return the text of the normalized weight of a side. */
export const formatSideWeight = (weight: number, side: "a" | "b", head: DiffHead): string =>
  formatWeight(divideByExposure(weight, side === "a" ? head.exposure_a : head.exposure_b), head);
