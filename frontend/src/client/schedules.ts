/** Schedules, maintenance and who is on call, as the server tells them. */

import type { CaptureScope, Named, Role, RunState, Sentence, Tier } from "./types";

export type Cadence =
  | { kind: "cron"; cron: string; zone: string }
  | { kind: "once"; wall: string; zone: string };

/** A due instant: `wall` is what the clock of the zone shows, with its offset; `gap`: the time is skipped that day. */
export interface Upcoming {
  at: string;
  wall: string;
  wanted_wall: string;
  kind: "plain" | "gap" | "overlap";
  window: { id: string; reason: string; ends_at: string } | null;
}

export interface CadenceRead {
  cron: string | null;
  zone: string;
  upcoming: Upcoming[];
}

export type Became = "fired" | "missed" | "skipped" | "refused";

/** What became of a due instant, or of `count` that were missed together. */
export interface Firing {
  id: string;
  due_at: string;
  last_due_at: string;
  count: number;
  state: Became;
  reason: Sentence | null;
  capture: { id: string; number: number; state: RunState } | null;
  at: string;
}

export interface ScheduleWanted {
  plan: string;
  seconds?: number | null;
  collectors?: string[] | null;
  scope: CaptureScope;
  options: Record<string, Record<string, string>>;
}

export interface Schedule {
  id: string;
  name: string;
  cadence: Cadence;
  wanted: ScheduleWanted;
  tier: Tier;
  hosts: Named[];
  labels: Record<string, string> | null;
  matching: number;
  reason: string;
  catch_up: "one" | "none";
  grace_s: number;
  deep_allowed: boolean;
  state: "active" | "paused" | "done";
  next_due: string | null;
  upcoming: Upcoming[];
  recent: Firing[];
  counts: Record<string, number>;
  owner: Named;
  refusal: Sentence | null;
  version: number;
  created_at: string;
  updated_at: string;
}

/** Maintenance: `times` are the one that is on and those to come, the first few. */
export interface MaintenanceWindow {
  id: string;
  starts_at: string;
  ends_at: string | null;
  recurs: { cron: string; zone: string; minutes: number } | null;
  times: { starts_at: string; ends_at: string; kind: Upcoming["kind"] }[];
  reason: string;
  host: Named | null;
  labels: Record<string, string> | null;
  by: Named | null;
  state: "to_come" | "now" | "over";
}

export interface Person extends Named {
  role: Role;
  disabled: boolean;
}

export interface Turn {
  start: string;
  end: string | null;
  who: string;
  person: Person | null;
  how: "rotation" | "calendar" | "override";
  level: number;
}

export interface Oncall {
  rotation: Named;
  now: Turn[];
  next: Turn | null;
  fetched_at: string | null;
  failure: Sentence | null;
}

export interface Override {
  id: string;
  person: Person | null;
  starts_at: string;
  ends_at: string;
  reason: string;
}

export interface Rotation {
  id: string;
  name: string;
  kind: "simple" | "calendar" | "pagerduty";
  zone: string;
  handover: string;
  first_day: string | null;
  days: number;
  people: Person[];
  source: Record<string, unknown>;
  has_secret: boolean;
  accounts: Record<string, string>;
  overrides: Override[];
  now: Turn[];
  next: Turn | null;
  turns: Turn[];
  fetched_at: string | null;
  failure: Sentence | null;
  version: number;
}

export interface Colleague extends Named {
  role: Role;
}
