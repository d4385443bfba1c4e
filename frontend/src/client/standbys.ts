/** What waits on hosts as the server tells it: rings that keep the last minutes, and armed captures. */

import type { Named, Sentence, Tier } from "./types";

export const STANDBY_STATES = ["waiting", "watching", "fired", "expired", "cancelled", "failed"] as const;
export type StandbyState = (typeof STANDBY_STATES)[number];

export interface Condition {
  kind: string;
  key: string;
  op: "over" | "under";
  limit: number;
  hits: number;
  of: number;
}

export interface Standby {
  id: string;
  number: number;
  kind: "ring" | "armed";
  host: Named;
  state: StandbyState;
  reason: string;
  /** How much a ring keeps, and how much it has by now. */
  ring_s: number;
  kept_s: number | null;
  /** Whether the ring also keeps stacks of all CPUs. */
  stacks: boolean;
  conditions: (Condition & { unit: string; starts: boolean })[];
  wanted: {
    plan: string;
    seconds: number | null;
    tier: Tier;
    scope: { kind: string; value: string };
  } | null;
  /** The incident whose evidence it captures. */
  incident: { id: string; number: number } | null;
  fires: number;
  fires_max: number;
  cooldown_s: number;
  fired_at: string | null;
  captures: { id: string; number: number; state: string; at: string }[];
  refused: { at: string; sentence: Sentence } | null;
  until: string;
  by: Named | null;
  created_at: string;
  started_at: string | null;
  ended_at: string | null;
  interrupted: number;
  waiting: Sentence | null;
  failure: Sentence | null;
  /** Percent of one core over the last minute; memory; what the ring holds. */
  cost: { cpu_pct: number | null; cpu_ms: number; rss_kb: number; ring_bytes: number } | null;
  /** The last readings of each condition, the oldest first; null is no data. */
  readings: { at: string; step_s: number; values: (number | null)[][] } | null;
}

export interface ConditionKind {
  kind: string;
  title: { en: string; zh: string };
  unit: string;
  key: string;
  example: string;
  starts: boolean;
}
