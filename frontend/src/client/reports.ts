/** Reports of incidents as the server tells them. */

import type { Named } from "./types";

/** What can be replaced, in the order of the server. */
export const REDACTION_KINDS = [
  "secret",
  "email",
  "word",
  "path",
  "argument",
  "sql",
  "host",
  "user",
  "address",
  "symbol",
] as const;
export type RedactionKind = (typeof REDACTION_KINDS)[number];
export type ReportPreset = "internal" | "customer";

export interface FollowUp {
  what: string;
  who: string;
  due: string | null;
  done: boolean;
}

export interface ReportSummary {
  id: string;
  incident_id: string;
  title: string;
  language: "en" | "zh";
  preset: ReportPreset;
  version: number;
  /** How many versions were frozen. */
  frozen: number;
  created_by: Named | null;
  created_at: string;
  updated_at: string;
}

/** A report as it was at one moment; nothing of it changes any more. */
export interface ReportVersion {
  id: string;
  report_id: string;
  number: number;
  sha256: string;
  size: number;
  intact: boolean;
  counts: Record<string, number>;
  created_by: Named | null;
  created_at: string;
  approved_by: Named | null;
  approved_at: string | null;
}

export interface ReportShare {
  id: string;
  version_id: string;
  number: number;
  note: string;
  open: boolean;
  expires_at: string;
  revoked_at: string | null;
  created_by: Named | null;
  created_at: string;
  visits: number;
  /** Told once, to whoever made the link. */
  url: string | null;
}

export interface Report extends ReportSummary {
  number: number;
  zone: string;
  kinds: RedactionKind[];
  words: string[];
  summary: string;
  impact: string;
  detected_at: string | null;
  mitigated_at: string | null;
  follow_ups: FollowUp[];
  /** Whether it tells what people wrote beside the incident. */
  comments: boolean;
  versions: ReportVersion[];
  shares: ReportShare[];
  may: { edit: boolean; approve: boolean; share: boolean; names: boolean; alone: boolean };
}

export interface ReportPreview {
  counts: Record<string, number>;
  replaced: { kind: RedactionKind; original: string; pseudonym: string }[];
  changed: { before: string; after: string }[];
}

export interface ReportVisit {
  at: string;
  address: string;
  agent: string;
  form: string;
}
