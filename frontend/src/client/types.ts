/** What the server answers, under the names that the screens use. */

import type { UsualSpan } from "../core/usual";
import type { Sentence } from "../core/words";
import type { KeptKind } from "./storage";

export type * from "./hostVisuals";
export type * from "./visuals";
export type { Sentence };
export interface Bilingual {
  en: string;
  zh: string;
}
export interface List<T> {
  items: T[];
  next: string | null;
}
export interface Named {
  id: string;
  name: string;
}

export type Role = "viewer" | "investigator" | "oncall" | "admin";
export type Tier = "light" | "standard" | "deep" | "ptrace";

export interface Me {
  id: string;
  name: string;
  role: Role;
  locale: "en" | "zh";
  label_scope: Record<string, string[]>;
  csrf: string | null;
  may: string[];
  version: string;
  needs_password: boolean;
  /** At the identity provider, which decides about role and password. */
  signs_in_elsewhere: boolean;
  /** The machine that the platform runs on, where it has enrolled itself. */
  this_host: string | null;
}

export interface User {
  id: string;
  name: string;
  role: Role;
  label_scope: Record<string, string[]>;
  locale: "en" | "zh";
  has_password: boolean;
  signs_in_elsewhere: boolean;
  disabled_at: string | null;
  created_at: string;
  login_link?: string | null;
}

export interface ApiToken {
  id: string;
  name: string;
  prefix: string;
  role: Role;
  /** What alone it may do; null: all that its role may. */
  purpose: "events" | null;
  expires_at: string | null;
  last_used_at: string | null;
  created_at: string;
  token?: string | null;
}

/** An address that takes one bundle; `url` and `command` are there once. */
export interface UploadAddress {
  id: string;
  state: "open" | "receiving" | "used" | "revoked" | "expired" | "spent";
  host: Named | null;
  host_name: string;
  plan: string;
  seconds: number | null;
  max_bytes: number;
  note: string;
  expires_at: string;
  created_by: Named;
  created_at: string;
  used_at: string | null;
  used_from: string | null;
  bytes: number | null;
  attempts: number;
  failure: Sentence | null;
  capture_id: string | null;
  url?: string | null;
  command?: string | null;
}

export interface AuditEntry {
  id: string;
  seq: number;
  at: string;
  actor_name: string;
  action: string;
  resource_kind: string;
  resource_id: string | null;
  detail: Record<string, unknown>;
  address: string | null;
}

export type CredentialKind = "key" | "generated_key" | "certificate" | "agent" | "password";

export interface Credential {
  id: string;
  name: string;
  kind: CredentialKind;
  username: string | null;
  public: { authorized_keys_line?: string; fingerprint?: string } & Record<string, unknown>;
  hosts?: number;
  created_at: string;
}

export interface NetworkRule {
  id: string;
  cidr: string;
  port_from: number;
  port_to: number;
  note: string;
  created_at: string;
}

export interface Facts {
  kernel?: string;
  distro?: string;
  arch?: string;
  cpus?: number;
  numa_nodes?: number;
  cgroup?: string | number;
  mem_bytes?: number;
  [key: string]: unknown;
}

export type RunState =
  | "queued"
  | "running"
  | "ingesting"
  | "done"
  | "partial"
  | "failed"
  | "cancelled"
  | "expired";

export type CollectorState =
  | "queued"
  | "running"
  | "done"
  | "skipped"
  | "failed"
  | "timed_out"
  | "unreadable"
  | "cancelled";

export interface Host {
  id: string;
  name: string;
  address: string;
  port: number;
  username: string;
  credential: {
    id: string;
    name: string;
    kind: CredentialKind;
    authorized_keys_line?: string | null;
  } | null;
  sudo: "none" | "nopasswd" | "password";
  jump_host: Named | null;
  labels: Record<string, string>;
  state: "active" | "retired" | "imported";
  host_key: { type: string; fingerprint: string; pinned_at: string } | null;
  max_silence_s: number;
  allows_ptrace: boolean;
  facts: Facts | null;
  facts_at: string | null;
  last_run: { id: string; state: RunState; at: string } | null;
  captures: number;
}

export interface ScannedKey {
  type: string;
  fingerprint: string;
  public_key: string;
}

/** What mends it: a command to copy, or a sentence. */
export type Mend = string | Sentence | null;

export interface Check {
  id: string;
  state: "ok" | "degraded" | "missing";
  value: string | number | null;
  reason: Sentence | null;
  mend: Mend;
}

export interface CollectorReadiness {
  id: string;
  state: "works" | "degrades" | "does_not_work";
  way: string | null;
  reason: Sentence | null;
  mend: Mend;
}

export interface Preflight {
  id: string;
  state: "queued" | "running" | "done" | "failed";
  at: string;
  facts: Facts | null;
  checks: Check[] | null;
  collectors: CollectorReadiness[] | null;
  clock: { offset_ms: number; uncertainty_ms: number } | null;
  timings: { connect_ms?: number; login_ms?: number; fork_ms?: number; rtt_ms?: number } | null;
  failure: Sentence | null;
}

export interface ImportRow {
  line: number;
  name: string;
  address: string;
  port: number | null;
  username: string | null;
  verdict: "ok" | "exists" | "refused" | "incomplete" | "added";
  reason: Sentence | null;
}

export type ScopeKind = "host" | "process" | "cgroup" | "unit" | "container" | "port";

/** What a capture looks at; a whole host has the empty value. */
export interface CaptureScope {
  kind: ScopeKind;
  value: string;
}

/** A value that may be given to a collector; all of it must match `pattern`. */
export interface CollectorOption {
  name: string;
  pattern: string;
  title: Bilingual;
  default: string;
  /** Without a value the collector cannot run. */
  required: boolean;
}

export interface CollectorInfo {
  id: string;
  title: Bilingual;
  why: Bilingual;
  tier: Tier;
  mandatory: boolean;
  exclusive: boolean;
  /** Part of no plan but one's own. */
  on_demand: boolean;
  options: CollectorOption[];
  ways: { shows: string; needs: unknown }[];
  seconds_max: number;
  max_bytes: number;
  cost: { cpu_pct: number; bytes_per_s: number; note: Bilingual };
  yields: string[];
}

export interface Metric {
  id: string;
  unit: string;
  labels: string[];
  axis: string | null;
  title: Bilingual;
  meaning: Bilingual;
  lane: { group: string; group_title: Bilingual; order: number; kind: "line" | "heatmap" | "area" | "step" };
}

export interface Plan {
  id: string;
  title: Bilingual | string;
  tier: Tier;
  seconds: number;
  collectors: { id: string; seconds: number }[];
}

export interface Preview {
  tier: Tier;
  allowed: boolean;
  refusal: Sentence | null;
  total_seconds: number;
  /** Why declared services are not measured along. */
  service?: Sentence | null;
  collectors: {
    id: string;
    tier: Tier;
    seconds: number;
    commands: string[];
    cost: { cpu_pct: number; bytes_per_s: number; note: Bilingual };
    /** It is not of the plan, and taken for this. */
    why?: Sentence | null;
    hosts: {
      host_id: string;
      state: "works" | "degrades" | "does_not_work" | "unknown";
      reason: Sentence | null;
      mend: Mend;
    }[];
  }[];
}

export interface RunCollector {
  id: string;
  state: CollectorState;
  reason: Sentence | null;
  bytes: number | null;
  seconds: number | null;
  progress: { elapsed_ms: number; planned_ms: number } | null;
  exit_code?: number | null;
  stderr_tail?: string | null;
  argv?: string | null;
  way?: string | null;
  tool_version?: string | null;
  started_ns?: number | null;
  ended_ns?: number | null;
  cpu_ms?: number | null;
  warnings?: Sentence[] | null;
}

export interface RunSummary {
  id: string;
  host: Named | null;
  state: RunState;
  attempt: number;
  started_at: string | null;
  ended_at: string | null;
  seconds: number | null;
  bytes: number | null;
  host_cpu_ms: number | null;
  failure: Sentence | null;
  /** Why a queued run does not start yet. */
  waiting?: Sentence | null;
  not_before?: string | null;
  collectors: RunCollector[];
}

export interface Capture {
  id: string;
  number: number;
  plan: string;
  seconds: number | null;
  tier?: Tier;
  scope?: CaptureScope;
  state: RunState;
  reason: string;
  source: "manual" | "import" | "api" | "trigger";
  requested_by: Named | null;
  created_at: string;
  ended_at: string | null;
  runs: RunSummary[];
}

export interface ArtifactInfo {
  id: string;
  collector: string | null;
  part: string;
  sha256: string;
  size: number;
  stored_size?: number;
  encoding?: string;
  media_type: string;
  complete?: boolean;
}

export interface ResultTable {
  kind: string;
  columns: { id: string; unit: string }[];
  rows: (string | number | null)[][];
  artifact_id: string | null;
  collector: string | null;
  /** For each row the line of the artifact that it was read from. */
  lines: number[];
}

export interface Profile {
  id: string;
  run_id: string;
  host: Named | null;
  kind: string;
  event: string;
  unit: "samples" | "ns";
  state: "queued" | "running" | "ready" | "failed";
  failure: Sentence | null;
  samples: number | null;
  weight: number | null;
  lost: number | null;
  unknown_share: number | null;
  truncated_share: number | null;
  t0_ns: number | null;
  t1_ns: number | null;
  way: string | null;
  label: string | null;
}

/** A kind of data of a run of which retention has deleted something. */
export interface Removal {
  kind: KeptKind;
  at: string;
  items: number;
  bytes: number;
}

export interface Run extends RunSummary {
  removals?: Removal[];
  capture: { id: string; number: number; plan: string };
  timings: Record<string, number> | null;
  clock: { offset_ms?: number; uncertainty_ms?: number; source?: string; steps?: unknown[] } | null;
  spec: Record<string, unknown> | null;
  artifacts: ArtifactInfo[];
  profiles: Profile[];
  tables: ResultTable[];
  warnings: { collector: string; warning: Sentence }[] | null;
}

export interface SeriesSummary {
  metric: string;
  labels: Record<string, string>;
  axis: string | null;
  unit: string;
  n: number;
  min: number | null;
  mean: number | null;
  max: number | null;
}

export type Severity = "info" | "warn" | "critical";

export interface HostEvent {
  id: string;
  t_ns: number;
  end_ns: number | null;
  uncertainty_ns: number;
  kind: string;
  severity: Severity;
  title: Sentence;
  detail: string;
  artifact_id: string | null;
  line: number | null;
  run_id: string | null;
  /** Who told it, where it was told and not read from the host. */
  told?: { by: string; who: string; link: string | null; everywhere: boolean } | null;
}

export interface LanePoints {
  t_ns: number[];
  min: (number | null)[];
  mean: (number | null)[];
  max: (number | null)[];
}

/** For every time one value per axis value. */
export interface LaneMatrix {
  t_ns: number[];
  values: (number | null)[][];
}

export interface Lane {
  metric: string;
  labels: Record<string, string>;
  unit: string;
  axis: string | null;
  axis_values: string[] | null;
  level: number | string;
  kind: "line" | "heatmap" | "area" | "step";
  points?: LanePoints | null;
  matrix?: LaneMatrix | null;
  gaps: [number, number][];
  chunks: { run_id: string; collector: string; artifact_id: string | null }[];
  /** What a service's Prometheus measured at the same hours of earlier days, run by run; ascending. */
  usual?: UsualSpan[];
}

export interface CaptureBlock {
  run_id: string;
  capture_id: string;
  number: number;
  plan: string;
  state: RunState;
  /** Since when a ring on the host had kept what came home with the run; null where none had. */
  look_back_ns: number | null;
  from_ns: number;
  to_ns: number;
  uncertainty_ns: number;
}

export interface Timeline {
  from_ns: number;
  to_ns: number;
  lanes: Lane[];
  captures: CaptureBlock[];
  events: HostEvent[];
  range: { first_ns: number | null; last_ns: number | null };
  events_total?: number;
  captures_total?: number;
}

export interface TimelineOverview {
  first_ns: number | null;
  last_ns: number | null;
  runs: CaptureBlock[];
  runs_total?: number;
  lanes: { metric: string; labels: Record<string, string>; axis: string | null }[];
}

export interface Citation {
  artifact_id: string;
  part: string;
  line: number | null;
  text: string | null;
  run_id: string;
  t_ns?: number;
  values?: Record<string, number | null>;
}

export interface Lines {
  from: number;
  total: number | null;
  lines: string[];
}

export interface SchedTask {
  task: string;
  pid: number;
  tid: number;
  runtime_ms: number;
  switches: number;
  delay_avg_ms: number | null;
  delay_p99_ms: number | null;
  delay_max_ms: number | null;
  delay_max_at_ns: number | null;
}

export interface Sched {
  samples: number;
  lost: number;
  lost_share: number;
  duration_ms: number;
  tasks: SchedTask[];
  histogram: { edges_us: number[]; counts: number[] };
  t0_ns?: number;
  t1_ns?: number;
  tasks_total?: number;
  inconsistent?: number;
  run_queue?: { t0_ns: number; bin_ns: number; mean: number[]; peak: number[] };
  checked_against: { tool: string; switches: number; ours: number; run_ms?: number | null } | null;
}

export interface SchedLanes {
  t0_ns: number;
  cpus: { cpu: number; segments: number[][] }[];
  tasks: ({ task: string; pid: number } | string)[];
}

export type Grade = "direct" | "mechanism" | "correlational" | "context";
export type Confidence = "confirmed" | "likely" | "possible";
/** What a number is about, as names and values: cgroup, pid, dev. Empty is the whole host. */
export type Subject = Record<string, string>;

/** Where a number was read: lines of a part of an artifact, or a frame of a profile. */
export interface Cited {
  run?: string;
  collector?: string;
  artifact?: string;
  part?: string;
  lines?: number[];
  profile?: string;
  frame?: string;
}

export interface FindingNumber {
  measure: string;
  value: number;
  unit: string;
  /** Null, as the threshold, where it was compared with nothing and stands beside those that were. */
  op: string | null;
  threshold: number | null;
  baseline: number | null;
  n: number;
  /** What it is about where that is more than what the finding is about. */
  subject: Subject | null;
  citations: Cited[];
}

export interface Finding {
  rule: string;
  state: "fired" | "quiet" | "inconclusive" | "not_evaluated";
  severity: Severity;
  grade: Grade;
  subject: Subject;
  numbers: FindingNumber[];
  reason: Sentence | null;
  detail: Record<string, unknown>;
}

/** One number that speaks for or against a cause, or stands beside those that do. */
export interface Evidence {
  finding: string;
  grade: Grade;
  severity: Severity;
  subject: Subject;
  metric: string;
  value: number;
  unit: string;
  op: string | null;
  threshold: number | null;
  baseline: number | null;
  n: number;
  artifact: string | null;
  locator: Cited;
  detail: Record<string, unknown>;
}

export interface CauseNamed {
  id: string;
  scope: Subject;
  confidence: Confidence;
  evidence: Evidence[];
  explains: string[];
}

export interface Ranking {
  causes: CauseNamed[];
  ruled_out: { id: string; by: Evidence[] }[];
  not_looked_at: string[];
  open: string[];
  not_collected: { finding: string; reason: Sentence | null }[];
  inconclusive: Finding[];
  set_aside: Finding[];
  context: Finding[];
}

export interface RunFindings {
  run_id: string;
  evaluated_at: string | null;
  elapsed_ms: number | null;
  findings: Finding[];
  quiet: Finding[];
  not_evaluated: Finding[];
  ranking: Ranking;
}

export interface HostFindings extends RunFindings {
  run_ended_at: string | null;
  plan: string;
}

export interface RuleLimit {
  name: string;
  measure: string;
  /** What is measured, where that is no plain metric. */
  title: Bilingual | null;
  op: string;
  value: number;
  unit: string;
  source: string;
  severity: Severity | null;
  against: "limit" | "baseline";
}

export interface Rule {
  id: string;
  title: Bilingual;
  says: Bilingual;
  traps: Bilingual | null;
  grade: Grade;
  measure: string;
  unit: string;
  /** One of each inner list is needed. */
  collectors: string[][];
  limits: RuleLimit[];
  /** What it tells beside its own number once it fired; compared with nothing. */
  beside: { measure: string; title: Bilingual; unit: string }[];
  causes: string[];
  refutes: string[];
  refuted_by: string[];
  source: string;
}

export interface Cause {
  id: string;
  title: Bilingual;
  what: Bilingual;
  fix: Bilingual;
  risk: Bilingual;
  verify: Bilingual;
  explains: string[];
  suspected_by: string[];
  tested_by: string[];
  proven: boolean;
  rules: string[];
}

export interface Threshold {
  id: string;
  name: string;
  value: number;
  default: number | null;
  label_name: string | null;
  label_value: string | null;
  host_id: string | null;
  why: string;
  created_at: string;
}

export interface DiagnosisStage {
  capture_id: string;
  run_id: string | null;
  state: RunState;
  tier: Tier;
  seconds: number;
  /** The collectors of this stage with their seconds. */
  collectors: Record<string, number>;
  hypotheses: string[];
  refused: string[];
  scope: { kind?: string; value?: string };
  cpu_pct: number;
  host_cpu_ms: number | null;
}

/** Something in which a host is unlike its twins; `there` holds their values by name. */
export interface Difference {
  kind: "fact" | "setting" | "metric" | "stack";
  name: string;
  here: string | number | boolean | null;
  there: Record<string, string | number | boolean | null>;
  surprise: number;
  agree: number;
}

export interface DiagnosisResult extends Ranking {
  refused: string[];
  runs: string[];
  baseline_run: string | null;
  differences: Difference[];
  seconds: number;
}

export interface Diagnosis {
  id: string;
  number: number;
  host: Named;
  scope: { kind?: string; value?: string };
  seconds: number;
  baseline: string;
  baseline_run_id: string | null;
  twins: Named[];
  reason: string;
  state: "running" | "done" | "failed" | "cancelled";
  stages: DiagnosisStage[];
  result: DiagnosisResult | null;
  failure: Sentence | null;
  created_at: string;
  ended_at: string | null;
  elapsed_s: number;
}

export type ServiceSource =
  | { kind: "none" }
  | {
      kind: "prometheus";
      url: string;
      queries: { rate: string; errors: string; latency: string };
      latency_unit: "s" | "ms";
    }
  | { kind: "access_log"; path: string; format: string }
  | { kind: "accepts"; port: number };

export interface Service {
  id: string;
  name: string;
  selector: Record<string, string>;
  locate: { kind: "unit" | "container" | "port" | "cgroup"; value: string } | null;
  source: ServiceSource;
  has_token: boolean;
  /** What nobody measures: verdicts that need it will be inconclusive. */
  missing: ("rate" | "errors" | "latency")[];
  /** The request rate is only inferred. */
  proxy: boolean;
  hosts: number;
  created_at: string;
}

/** What one query of a source brought over the last five minutes. */
export interface QueryResult {
  name: string;
  query: string;
  series: number;
  points: number;
  last: number | null;
  failure: Sentence | null;
}

export type PlaybookKind = "case" | "method" | "snippet" | "reference";
export type SettledVerdict = "supports" | "refutes" | "inconclusive";
export type StepVerdict = SettledVerdict | "not_collected";

export interface PlaybookSummary {
  id: string;
  kind: PlaybookKind;
  title: Bilingual;
  symptom: Bilingual;
  steps: number;
  cards: number;
  findings: string[];
  causes: string[];
}

export interface Hypothesis {
  id: string;
  says: Bilingual;
  /** The published cause that it would be; empty where none is. */
  cause: string;
  /** The number by which a fix of it is judged. */
  primary: { read: string; better: "lower" | "higher" } | null;
}

/** One question about a hypothesis or a gate: answered by a rule, or by a person who is told where to look. */
export interface PlaybookStep {
  id: string;
  asks: Bilingual;
  about: string;
  /** `supports`, `refutes` and `otherwise` to the id of a step, `playbook:<id>`, or `end`. */
  then: Record<string, string>;
  finding: string;
  fired: SettledVerdict;
  quiet: SettledVerdict;
  look: Bilingual | null;
  beware: Bilingual | null;
  seen: Bilingual | null;
}

export interface PlaybookCard {
  id: string;
  title: Bilingual;
  when: Bilingual;
  command: string;
  risk: Bilingual | null;
  back: Bilingual | null;
  verifies: string;
  correction: Bilingual | null;
  findings: string[];
  causes: string[];
}

export interface Playbook {
  id: string;
  kind: PlaybookKind;
  title: Bilingual;
  symptom: Bilingual;
  covered: Bilingual[];
  not_covered: Bilingual[];
  hypotheses: Hypothesis[];
  steps: PlaybookStep[];
  dead_ends: Bilingual[];
  cards: PlaybookCard[];
  verify: Bilingual | null;
  references: { title: string; url: string }[];
}

export interface PlaybookCheck {
  problems: { where: string; what: Sentence }[];
  playbook: Playbook | null;
}

export interface StepAnswer {
  step: string;
  verdict: StepVerdict;
  by: "rule" | "person" | "nobody";
  grade: string;
  reason: Sentence | null;
  findings: Finding[];
}

export interface HypothesisStand {
  hypothesis: string;
  standing: "open" | "supported" | "refuted" | "contested";
  supports: string[];
  refutes: string[];
  grade: string;
}

/** A playbook tried on a run: the way it went, what is missing on it, and what to look at next. */
export interface PlaybookChain {
  playbook: string;
  run_id: string;
  path: string[];
  gaps: string[];
  leads_to: string;
  answers: StepAnswer[];
  stands: HypothesisStand[];
  next: { step: string; collectors: string[]; tier: Tier; why: Sentence } | null;
}

/** One evaluated run of a host, in the fleet. */
export interface FleetLook {
  run_id: string;
  plan: string;
  at: string;
}

export interface FleetHost {
  id: string;
  name: string;
  labels: Record<string, string>;
  state: Host["state"];
  /** The newest first. */
  looks: FleetLook[];
  worst: Severity | null;
}

/** What one rule last said of a host: its worst subject, and which of the host's looks it was in. */
export interface FleetWord {
  rule: string;
  state: "fired" | "inconclusive" | "quiet";
  severity: Severity;
  value: number | null;
  threshold: number | null;
  subject: Record<string, string>;
  subjects: number;
  look: number;
}

/** The worst word of a cell; how many of its rules spoke, how many fired. */
export interface FleetCell extends FleetWord {
  said: number;
  fired: number;
}

export interface FleetRule {
  title: Bilingual;
  unit: string;
  op: string;
  grade: Grade;
  resource: string | null;
  letter: string | null;
}

interface Fleet<H> {
  /** The server's clock. */
  at: string;
  hosts: H[];
  rules: Record<string, FleetRule>;
  left_out: number;
}

/** Cells by `<resource>.<letter>`; one that nobody looked at is not there. */
export type FleetUseHost = FleetHost & { cells: Record<string, FleetCell> };
export type FleetUse = Fleet<FleetUseHost>;

export type FleetFindingsHost = FleetHost & { fired: FleetWord[]; inconclusive: string[]; quiet: string[] };
export type FleetFindings = Fleet<FleetFindingsHost>;

export interface FleetStanding {
  host_id: string;
  value: number;
  z: number;
  unlike: boolean;
  look: number;
}

/** One number over a group, the most unusual host first. */
export interface PeerMeasure {
  measure: string;
  rule: string;
  title: Bilingual;
  unit: string;
  n: number;
  median: number;
  step: number;
  standings: FleetStanding[];
}

export interface PeerGroup {
  value: string;
  hosts: FleetHost[];
  stale: number;
  measures: PeerMeasure[];
  agree: number;
}

export interface FleetPeers {
  at: string;
  label: string;
  labels: { name: string; hosts: number; values: number }[];
  without: number;
  left_out: number;
  groups: PeerGroup[];
}

/** Whose the other end of a call is, and where to go on. */
export interface CallPlace {
  kind: "unix" | "process" | "host" | "ambiguous" | "not_enrolled";
  host: Named | null;
  among: Named[];
  run_id: string | null;
  /** Both ends belong to one capture. */
  together: boolean;
  pid: number | null;
  comm: string;
  /** Met at the other end of the connection, or only listening there. */
  how: "connection" | "listener" | null;
  why: Sentence | null;
  url: string | null;
  citations: Cited[];
}

/** Mean numbers of requests: waited for, inside the other side, and in between. */
export interface CallEnds {
  caller: number;
  callee: number;
  between: number;
  citations: Cited[];
}

/** All connections of processes of one name with one address and port. */
export interface Call {
  key: string;
  direction: "out" | "in";
  protocol: "tcp" | "unix";
  comm: string;
  pids: number[];
  remote: string;
  port: number | null;
  connections: number | null;
  established: number | null;
  syn_sent: number | null;
  close_wait: number | null;
  time_wait: number | null;
  rtt_mean_ms: number | null;
  rtt_max_ms: number | null;
  retransmitted: number | null;
  retransmitting: number | null;
  send_queue_bytes: number | null;
  recv_queue_bytes: number | null;
  waiting: number | null;
  waiting_oldest_ms: number | null;
  looks: number;
  place: CallPlace;
  ends: CallEnds | null;
  ends_why: Sentence | null;
  /** Median response times by the access logs of both hosts. */
  logged: { caller_ms: number; callee_ms: number; citations: Cited[] } | null;
  citations: Cited[];
}

/** One part of the response time; the processes' own has no call. */
export interface CallSegment {
  call: string;
  share: number;
  low: number;
  high: number;
  ms: number | null;
  citations: Cited[];
}

export interface CallSplit {
  requests: number;
  met: number;
  parallel: boolean;
  rate_per_s: number | null;
  segments: CallSegment[];
}

export interface RunCalls {
  run_id: string;
  host: Named | null;
  pid: number | null;
  /** The process and those of its name that serve the same port. */
  pids: number[];
  comm: string;
  scope: Record<string, unknown>;
  t0_ns: number | null;
  t1_ns: number | null;
  out: Call[];
  into: Call[];
  left_out: number;
  split: CallSplit | null;
  split_why: Sentence | null;
  missing: { collector: string; reason: Sentence }[];
}

export interface ContextItem {
  id: string;
  value: string | number | null;
  unit: string;
  name: string;
  detail: string;
  unusual: Sentence | null;
  at_s: number | null;
  looked_at: boolean;
  told_by?: string;
  link?: string;
  /** Of a fact that has changed: its value at the last reading before, when that was, and where it stands. */
  was?: string | number | null;
  was_at_s?: number | null;
  was_citation?: Cited | null;
  citation: Cited | null;
}

export interface ContextGap {
  id: string;
  collectors: string[];
  reason: Sentence;
}

export interface ContextSection {
  id: "machine" | "kernel" | "limits" | "neighbours" | "changes";
  items: ContextItem[];
  gaps: ContextGap[];
}

export interface ContextTwin {
  host: Named;
  run_id: string | null;
  t0_ns: number | null;
  /** null where no rule was asked yet. */
  healthy: boolean | null;
  causes: string[];
}

/** Where am I. */
export interface HostContext {
  host: Named;
  run_id: string | null;
  t0_ns: number | null;
  scope: Record<string, unknown>;
  sections: ContextSection[];
  twins: {
    labels: Record<string, string>;
    twins: ContextTwin[];
    compared: string[];
    differences: Difference[];
    why: Sentence | null;
  };
}
