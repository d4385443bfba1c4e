/** Incidents as the server tells them: the chain from a symptom to the proof that a fix worked. */

import type {
  Bilingual,
  Cited,
  Confidence,
  Finding,
  Named,
  RunState,
  Sentence,
  SettledVerdict,
  StepVerdict,
  Tier,
} from "./types";

export const INCIDENT_STATES = ["open", "investigating", "identified", "mitigated", "resolved"] as const;
export type IncidentState = (typeof INCIDENT_STATES)[number];

/** A number of the symptom: what it was while all was well, and what it is now. */
export interface BeforeAfter {
  before: number | null;
  after: number | null;
  unit: string;
}

export interface Symptom {
  service: string;
  says: string;
  rate: BeforeAfter | null;
  errors: BeforeAfter | null;
  latency: BeforeAfter | null;
  since: string | null;
}

export type HostRole = "suspect" | "control" | "dependency";

export interface IncidentHost extends Named {
  scope: { kind?: string; value?: string };
  role: HostRole;
  enrolled: boolean;
}

export interface Person extends Named {
  /** Has it open now. */
  here: boolean;
}

/** A verdict that somebody gave. */
export interface PersonVerdict {
  id: string;
  verdict: StepVerdict;
  by: Named | null;
  note: string;
  at: string;
  pins: string[];
}

/** What a step shows on one host. */
export interface HostAnswer {
  host_id: string;
  run_id: string | null;
  /** What counts. */
  verdict: StepVerdict;
  by: "rule" | "person" | "nobody";
  rule_verdict: StepVerdict;
  person: PersonVerdict | null;
  grade: string;
  reason: Sentence | null;
  findings: Finding[];
  /** Shown, and not counted. */
  muted: Finding[];
  pins: string[];
  /** A person and the rule, or two people, say otherwise. */
  disagrees: boolean;
}

export interface IncidentStep {
  /** `playbook/step` */
  key: string;
  playbook: string;
  step: string;
  asks: Bilingual;
  look: Bilingual | null;
  about: string;
  finding: string;
  on_path: boolean;
  verdict: StepVerdict;
  waived: { reason: string; by: Named | null } | null;
  hosts: HostAnswer[];
}

export interface IncidentPlaybook {
  id: string;
  digest: string;
  title: Bilingual;
  /** The catalogue still has it so. */
  current: boolean;
  /** Whether what it asks holds up the end. */
  play: "asked" | "refuted" | "aside";
  aside: { reason: string; by: Named | null } | null;
}

export interface IncidentHypothesis {
  id: string;
  key: string;
  says: Bilingual;
  cause: string;
  state: "open" | "refuted" | "likely" | "confirmed";
  standing: "open" | "supported" | "refuted" | "contested";
  grade: string;
  primary: { read: string; better: "lower" | "higher" } | null;
  supports: string[];
  refutes: string[];
}

export interface NextProposal {
  step: string;
  host_id: string;
  collectors: string[];
  tier: Tier;
  cost: { cpu_pct: number; seconds: number; bytes: number | null };
  commands: { collector: string; text: string; why?: Sentence | null }[];
  why: Sentence;
}

export type Outcome = "verified" | "worse" | "no_effect" | "no_conclusion";

/** One capture on one side of a comparison. */
export interface VerificationWindow {
  side: "before" | "after" | "control_before" | "control_after";
  run: string;
  host: string;
  load: number | null;
  mean: number | null;
  t_ns: number[];
  values: (number | null)[];
  citations: Cited[];
  missing: Sentence | null;
}

/** What a comparison of before with after says, and what it rests on. Shares: -0.2 fell by a fifth. */
export interface Judged {
  outcome: Outcome;
  change: number | null;
  low: number | null;
  high: number | null;
  p: number | null;
  bar: number;
  confidence: number;
  /** The number was divided by the load first. */
  per_work: boolean;
  primary: { read: string; unit: string; better: "lower" | "higher"; subject: Record<string, string> };
  load: { kind: string; unit: string; before: number | null; after: number | null; change: number | null };
  /** Why nothing can be concluded, then what should be known beside the outcome. */
  reasons: Sentence[];
  windows: VerificationWindow[];
  hosts?: { host: string; change: number | null; outlier: boolean; left_out: Sentence | null }[];
  differential?: Differential;
}

/** A function's mean own share of the busy samples, 0 to 1; `sure`: its interval over hosts is clear of nothing. */
export interface FunctionChange {
  name: string;
  before: number;
  after: number;
  change: number;
  low: number;
  high: number;
  sure: boolean;
}

/** How CPU profiles differ, where both sides have some. */
export interface Differential {
  hosts: string[];
  functions: FunctionChange[];
  /** Name without the marks of a build → the names that were taken together under it. */
  mapping: Record<string, readonly string[]>;
  /** How many such names there are; only some are listed. */
  mapped: number;
  /** The comparison that draws both sides. */
  diff_id?: string;
}

export interface Verification {
  id: string;
  kind: "plain" | "control" | "cohort";
  primary: { read: string; better: "lower" | "higher" } | null;
  bar: number | null;
  before: string[];
  /** Captures made for it while the fix was planned. */
  made_before: string[];
  after: string[];
  control_host_id: string | null;
  state: "before" | "waiting" | "collecting" | "judging" | "done" | "failed" | "cancelled";
  result: Judged | null;
  failure: Sentence | null;
  requested_by: Named | null;
  created_at: string;
  ended_at: string | null;
}

export type FixState =
  | "planned"
  | "applied"
  | "verified"
  | "no_effect"
  | "worse"
  | "no_conclusion"
  | "reverted";

export interface Fix {
  id: string;
  hypothesis_id: string | null;
  card: string;
  what: string;
  hosts: string[];
  command: string;
  risk: string;
  way_back: string;
  applied_at: string | null;
  state: FixState;
  by: Named | null;
  created_at: string;
  verifications: Verification[];
}

export type PinKind = "range" | "frame" | "row" | "line" | "comparison";

export interface Pin {
  id: string;
  kind: PinKind;
  ref: Record<string, unknown>;
  /** Path and query that open exactly what was pinned. */
  view: string;
  said: Record<string, unknown>;
  artifact: string | null;
  step: string | null;
  by: Named | null;
  created_at: string;
}

export interface PinChecked extends Pin {
  /** null where it rests on no single artifact. */
  state: "intact" | "altered" | "gone" | null;
}

export interface IncidentRun {
  run_id: string;
  capture_id: string;
  number: number;
  host_id: string | null;
  role: "evidence" | "before" | "after" | "control";
  plan: string;
  from: string | null;
  to: string | null;
  state: RunState;
  step: string | null;
  fix_id: string | null;
}

export interface Autopilot {
  state: "running" | "stopped";
  tier: Tier;
  by: Named | null;
  capture_id: string | null;
  step: string | null;
  reason: Sentence | null;
}

/** What this person may do here. */
export interface MayHere {
  edit: boolean;
  comment: boolean;
  resolve: boolean;
  capture: boolean;
  tiers: string[];
  mute: boolean;
  autopilot: boolean;
  bundle: boolean;
}

/** A cause that was named here and was not it. */
export interface WrongCause {
  cause: string;
  true_cause: string | null;
  note: string;
  pins: string[];
  by: Named | null;
}

export interface IncidentCause {
  hypothesis: string;
  cause: string;
  confidence: Extract<Confidence, "likely" | "confirmed">;
}

/** A verdict that is another one here than where the bundle was written; null: nobody said one. */
export interface OriginDifference {
  kind: "rule" | "step" | "hypothesis";
  about: string;
  on: string;
  there: string | null;
  here: string | null;
  why: "left_out" | "muted" | "rules" | "unknown";
}

interface Counted {
  equal: number;
  total: number;
}

/** Where an imported incident is from; `compared` is null until its rules were asked here. */
export interface Origin {
  culprit: string;
  number: number;
  redacted: boolean;
  written_at: string;
  imported_at: string;
  imported_by: Named | null;
  compared: {
    rule: Counted;
    step: Counted;
    hypothesis: Counted;
    different: OriginDifference[];
    unequal: number;
  } | null;
  /** Names of people of there, by the id of what they said. */
  said_by: Record<string, string>;
}

/** The incident that an exported bundle is here. */
export interface CarriedIncident {
  id: string;
  number: number;
  title: string;
  runs: number;
  new: boolean;
}

export interface Incident {
  id: string;
  number: number;
  title: string;
  state: IncidentState;
  severity: 1 | 2 | 3 | 4;
  version: number;
  symptom: Symptom;
  window: { from: string; to: string | null };
  hosts: IncidentHost[];
  people: Person[];
  playbooks: IncidentPlaybook[];
  hypotheses: IncidentHypothesis[];
  steps: IncidentStep[];
  /** Steps on the walked ways of playbooks in play that nothing settled and nobody waived. */
  gaps: string[];
  leads_to: string[];
  next: NextProposal | null;
  causes: IncidentCause[];
  wrong: WrongCause[];
  fixes: Fix[];
  pins: Pin[];
  runs: IncidentRun[];
  may: MayHere;
  autopilot: Autopilot | null;
  /** A fix was verified: the question is whether the symptom is gone. */
  again: boolean;
  /** Absent or null for an incident that was opened here. */
  origin?: Origin | null;
  created_by: Named | null;
  created_at: string;
  updated_at: string;
  resolved_at: string | null;
  /** What a write has just made. */
  made: string | null;
}

/** One line of the list. */
export interface IncidentSummary {
  id: string;
  number: number;
  title: string;
  state: IncidentState;
  severity: 1 | 2 | 3 | 4;
  version: number;
  symptom: Symptom;
  window: { from: string; to: string | null };
  hosts: string[];
  people: number;
  causes: IncidentCause[];
  fixes: FixState[];
  resolved_at: string | null;
  created_at: string;
  updated_at: string;
}

export interface JournalEntry {
  id: string;
  version: number;
  kind: string;
  /** `reason` is a sentence of its own. */
  params: Record<string, string | number> & { reason?: Sentence };
  note: string;
  by: Named | null;
  at: string;
}

export interface Mute {
  id: string;
  host_id: string;
  host: string;
  rule: string;
  reason: string;
  expires_at: string;
  active: boolean;
  by: Named | null;
}

/** How often a cause was named and was it. */
export interface CauseOutcome {
  cause: string;
  right: number;
  wrong: number;
  instead: Record<string, number>;
}

export type { SettledVerdict };

export type CommentAbout = "incident" | "step" | "hypothesis" | "pin";

/** What somebody wrote, as plain text; a withdrawn one has none any more. */
export interface Comment {
  id: string;
  about: CommentAbout;
  ref: string;
  text: string;
  by: Named | null;
  at: string;
  edited_at: string | null;
  earlier: { text: string; until: string }[];
  withdrawn_at: string | null;
  withdrawn_by: Named | null;
  mentions: { id: string; name: string; told: boolean }[];
  mine: boolean;
  may_withdraw: boolean;
}
