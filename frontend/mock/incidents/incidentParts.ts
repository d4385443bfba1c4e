/** Parts of mock incidents: answers of hosts, steps, hypotheses, pins, fixes and verifications. */
import type * as T from "../../src/client/models.ts";
import type {
  Fix,
  HostAnswer,
  HostRole,
  IncidentHost,
  IncidentHypothesis,
  IncidentStep,
} from "../../src/features/incidents/api.ts";
import type { PlaybookStep } from "../../src/features/playbooks/api.ts";
import { delayFinding } from "../analysis/findings.ts";
import { PLAYBOOKS } from "../analysis/playbooks.ts";
import { HOSTS } from "../dataset.ts";
import { makeId } from "../server/pseudoRandom.ts";
import { USERS } from "../server/state.ts";

export const [CROWD] = PLAYBOOKS as [T.Playbook];
export const [UNHEALTHY, WELL, THIRD] = HOSTS.slice(1, 4) as [T.Host, T.Host, T.Host];
export const [ADMIN, LENA, WEI] = USERS.map(({ id: userId, name }) => ({ id: userId, name })) as [
  T.HostRef,
  T.HostRef,
  T.HostRef,
];
export const localize = (en: string, zh: string) => ({ en, zh });
export const toTime = (time: string): string => `2026-11-21T${time}Z`;
export const runIdOf = (host: T.Host, number: number): string => makeId("run", host.id, number);

export const createAnswer = (host: T.Host, extra: Partial<HostAnswer> = {}): HostAnswer => ({
  host_id: host.id,
  run_id: null,
  verdict: "not_collected",
  by: "none",
  rule_verdict: "not_collected",
  person: null,
  strength: "context",
  reason: null,
  findings: [],
  muted: [],
  pins: [],
  disagrees: false,
  ...extra,
});
export const createRuleAnswer = (host: T.Host, verdict: T.StepVerdict, finding: T.Finding): HostAnswer =>
  createAnswer(host, {
    run_id: runIdOf(host, 472),
    verdict,
    by: "rule",
    rule_verdict: verdict,
    strength: finding.strength,
    findings: [finding],
  });
export const createMissingAnswer = (host: T.Host, collector: string): HostAnswer =>
  createAnswer(host, { reason: { key: "missing.not_collected", params: { collector } } });

export const unmatchedDelayFinding: T.Finding = {
  ...delayFinding,
  state: "not_matched",
  severity: "info",
  numbers: delayFinding.numbers
    .slice(0, 1)
    .map((item) => ({ ...item, value: 0.4, baseline: 0.5, sample_count: 8120 })),
};

export const LINE_PIN: T.Pin = {
  id: makeId("pin", 1),
  kind: "line",
  ref: {
    artifact_id: makeId("artifact", runIdOf(UNHEALTHY, 471), "perf_sched", "stdout"),
    part: "sched.txt",
    lines: [1184, 1190],
  },
  view: `/artifacts/${makeId("artifact", runIdOf(UNHEALTHY, 471), "perf_sched", "stdout")}?line=1184&lines=1184,1190`,
  snapshot: {
    collected: true,
    lines: [
      { number: 1184, text: "feed-worker:(412)  |  9812.4 ms |  12911 | avg:  44.103 ms | max: 211.7 ms" },
      { number: 1190, text: "feed-gc:(8)        |   112.8 ms |    310 | avg:  39.910 ms | max: 190.2 ms" },
    ],
  },
  artifact: "9f2c".padEnd(64, "a"),
  step: "requests-wait-for-cpu/waiting",
  by: LENA,
  created_at: toTime("02:33:10"),
};
export const FRAME_PIN: T.Pin = {
  ...LINE_PIN,
  id: makeId("pin", 2),
  kind: "frame",
  ref: { profile_id: makeId("profile", 1), frames: ["root", "feed-worker", "runtime.gcDrain"] },
  view: `/profiles/${makeId("profile", 1)}?root=12`,
  snapshot: { collected: true, frame: "runtime.gcDrain", share: 0.382 },
  by: WEI,
  created_at: toTime("02:36:40"),
};
export const MISSING_PIN_ID = makeId("pin", 2);

export const createStep = (
  name: string,
  hosts: HostAnswer[],
  extra: Partial<IncidentStep> = {},
): IncidentStep => {
  const own = CROWD.steps.find((item) => item.id === name) as PlaybookStep;
  const order = ["supports", "not_collected", "inconclusive", "refutes"] as const;
  return {
    key: `${CROWD.id}/${name}`,
    playbook: CROWD.id,
    step: name,
    question: own.question,
    instructions: own.instructions,
    about: `${CROWD.id}/${own.about}`,
    finding: own.finding,
    on_path: true,
    verdict: order.find((verdict) => hosts.some((answer) => answer.verdict === verdict)) ?? "not_collected",
    waived: null,
    hosts,
    ...extra,
  };
};

export const createHypothesis = (name: string, extra: Partial<IncidentHypothesis>): IncidentHypothesis => {
  const own = CROWD.hypotheses.find((item) => item.id === name);
  return {
    id: makeId("hypothesis", name),
    key: `${CROWD.id}/${name}`,
    summary: own?.summary ?? localize("", ""),
    cause: own?.cause ?? "",
    state: "open",
    status: "open",
    strength: "context",
    primary: own?.primary ?? null,
    supports: [],
    refutes: [],
    ...extra,
  };
};

/** Return the verification methods of a fix in the order of the server: the most reliable possible method first. */
export const listOffers = (isApplied: boolean): Fix["offers"] => {
  const offer = (kind: Fix["offers"][number]["kind"], refusal: string | null = null) => ({
    kind,
    reason: { key: `verify.offer_${kind}`, params: {} },
    refusal: refusal === null ? null : { key: refusal, params: { needed: 3, hosts: 1 } },
  });
  const cohort = offer("cohort", "verify.offer_needs_hosts");
  return isApplied
    ? [offer("control"), offer("plain"), offer("alternating", "verify.offer_needs_rollback"), cohort]
    : [offer("alternating"), offer("control"), offer("plain"), cohort];
};

export const createFix = (number: number, extra: Partial<Fix>): Fix => ({
  id: makeId("fix", number),
  hypothesis_id: makeId("hypothesis", "crowd"),
  remediation: `${CROWD.id}/bound-the-pool`,
  what: "GOMAXPROCS 300 → 4",
  hosts: [UNHEALTHY.id],
  command: "systemctl set-property --runtime feed.service CPUQuota=400%",
  risk: "What this group gains, others on the host lose.",
  rollback: "Set the old value.",
  applied_at: toTime("02:31:00"),
  state: "applied",
  by: LENA,
  created_at: toTime("02:30:00"),
  verifications: [],
  offers: listOffers(extra.state !== "planned" && extra.state !== "reverted"),
  ...extra,
});

const ALL_PERMISSIONS: T.Incident["permissions"] = {
  edit: true,
  comment: true,
  resolve: true,
  capture: true,
  tiers: ["light", "standard", "deep"],
  mute: true,
  autopilot: true,
  bundle: true,
};

export const createHost = (
  { id: hostId, name }: T.Host,
  role: HostRole,
  scope: T.CaptureScope,
): IncidentHost => ({
  id: hostId,
  name,
  scope: { ...scope },
  role,
  can_capture: true,
});
export const WHOLE_HOST: T.CaptureScope = { kind: "host", value: "" };

export const createIncident = (number: number, extra: Partial<T.Incident>): T.Incident => ({
  id: makeId("incident", number),
  number,
  title: "",
  state: "open",
  severity: 3,
  version: 7,
  symptom: { service: "", description: "", rate: null, errors: null, latency: null, since: null },
  window: { from: toTime("02:14:00"), to: null },
  hosts: [],
  people: [
    { ...ADMIN, is_present: true },
    { ...LENA, is_present: true },
    { ...WEI, is_present: false },
  ],
  playbooks: [],
  hypotheses: [],
  steps: [],
  gaps: [],
  next_playbooks: [],
  next: null,
  causes: [],
  rejected_causes: [],
  fixes: [],
  pins: [],
  runs: [],
  diagnoses: [],
  times: [{ state: "open", at: toTime("02:20:00") }],
  permissions: ALL_PERMISSIONS,
  autopilot: null,
  needs_symptom_check: false,
  created_by: LENA,
  owner: LENA,
  created_at: toTime("02:20:00"),
  updated_at: toTime("02:38:00"),
  resolved_at: null,
  created_id: null,
  ...extra,
});
