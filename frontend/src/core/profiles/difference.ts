/** Differences of two profiles: A is before, B after; weights are divided by what each side has as a whole. */

import { duration, number, percent } from "../text/format";
import type { Message } from "../text/messages";
import type { FlameNode, PathStep } from "./flame";

/** A comparison, built or on its way; a side may be several profiles added up, of which the first is named. */
export interface DiffState {
  id: string;
  state: "queued" | "running" | "ready" | "failed";
  a: { profile_id: string; profiles: number };
  b: { profile_id: string; profiles: number };
  failure: Message | null;
}

export const isBuilt = ({ state }: DiffState): boolean => state === "ready" || state === "failed";

/** What weights are divided by: samples, CPU seconds, seconds of the recording, or units of work. */
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
  /** Base name → the names of functions that are drawn under it. */
  merged: Record<string, readonly string[]>;
}

/** A path that only one side has. */
export interface DiffPath {
  path: string[];
  node: number;
  a?: number;
  b?: number;
  changed: boolean;
}

/** A weight that was divided: a share of samples or CPU time, or a rate per second or per request. */
export function rate(value: number, { normalize, unit }: DiffHead): string {
  if (normalize === "share" || normalize === "cpu") return percent(value);
  return `${unit === "ns" ? duration(value) : number(value)}/${normalize === "wall" ? "s" : "req"}`;
}

const divided = (weight: number, exposure: number): number => (exposure > 0 ? weight / exposure : 0);

/** A difference with its sign: `▲ +28.1 %`; of what is equal, `0 %`. */
export function signedRate(delta: number, head: DiffHead): string {
  const sign = delta > 0 ? "▲ +" : delta < 0 ? "▼ −" : "";
  return `${sign}${rate(Math.abs(delta), head)}`;
}

/** `A 12.1 % → B 40.2 %  ▲ +28.1 %`. */
export function sidesOf(node: Pick<FlameNode, "a" | "b" | "delta">, head: DiffHead): string {
  const a = divided(node.a ?? 0, head.exposure_a);
  const b = divided(node.b ?? 0, head.exposure_b);
  return `A ${rate(a, head)} → B ${rate(b, head)}  ${signedRate(node.delta ?? b - a, head)}`;
}

/** A weight of one side. */
export const sideRate = (weight: number, side: "a" | "b", head: DiffHead): string =>
  rate(divided(weight, side === "a" ? head.exposure_a : head.exposure_b), head);
