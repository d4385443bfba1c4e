/** Triggers, alerts, channels, messages and kill switches as the server tells them. */

import type { Named, Sentence, Tier } from "./types";

export const TRIGGER_KINDS = ["alertmanager", "grafana", "pagerduty", "generic"] as const;
export type TriggerKind = (typeof TRIGGER_KINDS)[number];
export const ALERT_STATES = ["fired", "joined", "held", "refused", "unmatched"] as const;
export type AlertState = (typeof ALERT_STATES)[number];

export interface TriggerOptions {
  seconds: number;
  peers: number;
  cooldown_s: number;
  window_s: number;
  severity: number;
  host_labels: string[];
  service_labels: string[];
  only: Record<string, string[]>;
}

export interface Trigger {
  id: string;
  name: string;
  kind: TriggerKind;
  proof: "hmac" | "token";
  path: string;
  options: TriggerOptions;
  channels: Named[];
  enabled: boolean;
  owner: Named | null;
  created_at: string;
  heard_at: string | null;
  heard: number;
  repeated: number;
  refused_at: string | null;
  refused_for: Sentence | null;
  /** Alerts of the last 24 hours by what became of them. */
  alerts: Record<string, number>;
  /** Only in the answer that made it. */
  secret?: string | null;
}

export interface TriggerTested {
  state: AlertState;
  reason: Sentence | null;
  host: Named | null;
  service: string;
  peers: Named[];
  tiers: Tier[];
}

export interface Alert {
  id: string;
  number: number;
  trigger: Named;
  cause: string;
  title: string;
  summary: string;
  labels: Record<string, string>;
  state: AlertState;
  reason: Sentence | null;
  count: number;
  host: Named | null;
  service: string;
  incident_id: string | null;
  incident_number: number | null;
  diagnosis_id: string | null;
  peers: Named[];
  created_at: string;
  last_at: string;
  resolved_at: string | null;
}

export interface TierAllowance {
  id: string;
  label: Record<string, string>;
  tier: Tier;
  by: Named | null;
  created_at: string;
}

export const CHANNEL_KINDS = ["webhook", "slack", "email", "grafana"] as const;
export type ChannelKind = (typeof CHANNEL_KINDS)[number];

export interface Channel {
  id: string;
  name: string;
  kind: ChannelKind;
  locale: "en" | "zh";
  enabled: boolean;
  /** Whom it reaches when a comment names them. */
  user_id: string | null;
  shown: { server?: string; to?: string[] } & Record<string, unknown>;
  queued: number;
  dead: number;
  last_state: NoticeState | null;
  last_at: string | null;
  secret?: string | null;
}

export type NoticeState = "queued" | "sent" | "dead";

export interface Notice {
  id: string;
  number: number;
  channel_id: string;
  channel: string;
  about: "firing" | "test";
  message: { headline: string; lines: string[]; paths: Record<string, string> } & Record<string, unknown>;
  state: NoticeState;
  tries: number;
  not_before: string;
  failure: Sentence | null;
  created_at: string;
  sent_at: string | null;
}

/** Something in a Grafana, or on its way there; `about_id` is of the capture, the event or the incident. */
export interface GrafanaAnnotation {
  id: string;
  channel_id: string;
  channel: string;
  about: "capture" | "incident" | "cause" | "fix" | "event";
  about_id: string;
  text: string;
  removed: boolean;
  state: NoticeState | "gone";
  tries: number;
  not_before: string;
  failure: Sentence | null;
  created_at: string;
  sent_at: string | null;
}

export interface KillSwitch {
  id: string;
  kind: "everywhere" | "label" | "host";
  host: Named | null;
  label: Record<string, string> | null;
  reason: string;
  pulled_by: Named | null;
  created_at: string;
  lifted_at: string | null;
  cancelled: number;
}
