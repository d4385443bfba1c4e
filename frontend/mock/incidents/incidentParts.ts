/** What made-up incidents are made of: answers of hosts, steps, hypotheses, pins, fixes and their comparisons. */
import type * as I from "../src/client/incidents.ts";
import type * as T from "../src/client/types.ts";
import { delayFound } from "./findings.ts";
import { id } from "./noise.ts";
import { PLAYBOOKS } from "./playbooks.ts";
import { USERS } from "./state.ts";
import { HOSTS } from "./world.ts";

export const [CROWD] = PLAYBOOKS as [T.Playbook];
export const [SICK, WELL, THIRD] = HOSTS.slice(1, 4) as [T.Host, T.Host, T.Host];
export const [ADMIN, LENA, WEI] = USERS.map(({ id: userId, name }) => ({ id: userId, name })) as [
  T.Named,
  T.Named,
  T.Named,
];
export const two = (en: string, zh: string) => ({ en, zh });
export const at = (time: string): string => `2026-11-21T${time}Z`;
export const runOf = (host: T.Host, number: number): string => id("run", host.id, number);

export const answer = (host: T.Host, extra: Partial<I.HostAnswer> = {}): I.HostAnswer => ({
  host_id: host.id,
  run_id: null,
  verdict: "not_collected",
  by: "nobody",
  rule_verdict: "not_collected",
  person: null,
  grade: "context",
  reason: null,
  findings: [],
  muted: [],
  pins: [],
  disagrees: false,
  ...extra,
});
export const byRule = (host: T.Host, verdict: T.StepVerdict, found: T.Finding): I.HostAnswer =>
  answer(host, {
    run_id: runOf(host, 472),
    verdict,
    by: "rule",
    rule_verdict: verdict,
    grade: found.grade,
    findings: [found],
  });
export const missing = (host: T.Host, collector: string): I.HostAnswer =>
  answer(host, { reason: { key: "missing.not_collected", params: { collector } } });

export const quietDelay: T.Finding = {
  ...delayFound,
  state: "quiet",
  severity: "info",
  numbers: delayFound.numbers.slice(0, 1).map((one) => ({ ...one, value: 0.4, baseline: 0.5, n: 8120 })),
};

export const LINE_PIN: I.Pin = {
  id: id("pin", 1),
  kind: "line",
  ref: {
    artifact_id: id("artifact", runOf(SICK, 471), "perf_sched", "stdout"),
    part: "sched.txt",
    lines: [1184, 1190],
  },
  view: `/artifacts/${id("artifact", runOf(SICK, 471), "perf_sched", "stdout")}?line=1184&lines=1184,1190`,
  said: {
    collected: true,
    lines: [
      { n: 1184, text: "feed-worker:(412)  |  9812.4 ms |  12911 | avg:  44.103 ms | max: 211.7 ms" },
      { n: 1190, text: "feed-gc:(8)        |   112.8 ms |    310 | avg:  39.910 ms | max: 190.2 ms" },
    ],
  },
  artifact: "9f2c".padEnd(64, "a"),
  step: "requests-wait-for-cpu/waiting",
  by: LENA,
  created_at: at("02:33:10"),
};
export const FRAME_PIN: I.Pin = {
  ...LINE_PIN,
  id: id("pin", 2),
  kind: "frame",
  ref: { profile_id: id("profile", 1), frames: ["root", "feed-worker", "runtime.gcDrain"] },
  view: `/profiles/${id("profile", 1)}?root=12`,
  said: { collected: true, frame: "runtime.gcDrain", share: 0.382 },
  by: WEI,
  created_at: at("02:36:40"),
};
export const GONE_PIN = id("pin", 2);

export const step = (
  name: string,
  hosts: I.HostAnswer[],
  extra: Partial<I.IncidentStep> = {},
): I.IncidentStep => {
  const own = CROWD.steps.find((one) => one.id === name) as T.PlaybookStep;
  const order = ["supports", "not_collected", "inconclusive", "refutes"] as const;
  return {
    key: `${CROWD.id}/${name}`,
    playbook: CROWD.id,
    step: name,
    asks: own.asks,
    look: own.look,
    about: `${CROWD.id}/${own.about}`,
    finding: own.finding,
    on_path: true,
    verdict: order.find((verdict) => hosts.some((one) => one.verdict === verdict)) ?? "not_collected",
    waived: null,
    hosts,
    ...extra,
  };
};

export const hypothesis = (name: string, extra: Partial<I.IncidentHypothesis>): I.IncidentHypothesis => {
  const own = CROWD.hypotheses.find((one) => one.id === name);
  return {
    id: id("hypothesis", name),
    key: `${CROWD.id}/${name}`,
    says: own?.says ?? two("", ""),
    cause: own?.cause ?? "",
    state: "open",
    standing: "open",
    grade: "context",
    primary: own?.primary ?? null,
    supports: [],
    refutes: [],
    ...extra,
  };
};

export const fix = (number: number, extra: Partial<I.Fix>): I.Fix => ({
  id: id("fix", number),
  hypothesis_id: id("hypothesis", "crowd"),
  card: `${CROWD.id}/bound-the-pool`,
  what: "GOMAXPROCS 300 → 4",
  hosts: [SICK.id],
  command: "systemctl set-property --runtime feed.service CPUQuota=400%",
  risk: "What this group gains, others on the host lose.",
  way_back: "Set the old value.",
  applied_at: at("02:31:00"),
  state: "applied",
  by: LENA,
  created_at: at("02:30:00"),
  verifications: [],
  ...extra,
});

const MAY: I.MayHere = {
  edit: true,
  comment: true,
  resolve: true,
  capture: true,
  tiers: ["light", "standard", "deep"],
  mute: true,
  autopilot: true,
  bundle: true,
};

export const host = (
  { id: hostId, name }: T.Host,
  role: I.HostRole,
  scope: T.CaptureScope,
): I.IncidentHost => ({
  id: hostId,
  name,
  scope: { ...scope },
  role,
  enrolled: true,
});
export const WHOLE: T.CaptureScope = { kind: "host", value: "" };

export const incident = (number: number, extra: Partial<I.Incident>): I.Incident => ({
  id: id("incident", number),
  number,
  title: "",
  state: "open",
  severity: 3,
  version: 7,
  symptom: { service: "", says: "", rate: null, errors: null, latency: null, since: null },
  window: { from: at("02:14:00"), to: null },
  hosts: [],
  people: [
    { ...ADMIN, here: true },
    { ...LENA, here: true },
    { ...WEI, here: false },
  ],
  playbooks: [],
  hypotheses: [],
  steps: [],
  gaps: [],
  leads_to: [],
  next: null,
  causes: [],
  wrong: [],
  fixes: [],
  pins: [],
  runs: [],
  may: MAY,
  autopilot: null,
  again: false,
  created_by: LENA,
  created_at: at("02:20:00"),
  updated_at: at("02:38:00"),
  resolved_at: null,
  made: null,
  ...extra,
});
