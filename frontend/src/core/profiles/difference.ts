/** Differences of two profiles: A is before, B after; what is drawn is as wide as B. */

import { percent } from "../text/format";
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

export interface DiffTree {
  tree: FlameNode;
  path?: PathStep[];
  vanished: { path: string[]; a: number }[];
  new: { path: string[]; b: number }[];
  total_a: number;
  total_b: number;
  /** Base name → the names of functions that are drawn under it. */
  merged: Record<string, readonly string[]>;
}

/** `A 12.1 % → B 40.2 %  ▲ +28.1 points`; shares, because the two sides seldom have as many samples. */
export function sharesOf(node: FlameNode, totalA: number, totalB: number): string {
  const a = totalA > 0 ? (node.a ?? 0) / totalA : 0;
  const b = totalB > 0 ? (node.b ?? node.value) / totalB : 0;
  const delta = node.delta ?? b - a;
  const sign = delta > 0 ? "▲ +" : delta < 0 ? "▼ " : "";
  return `A ${percent(a)} → B ${percent(b)}  ${sign}${percent(delta)}`;
}
