/** Mock incidents: a complete one, a new one, one with a failed fix, and one without a decision. */
import type * as T from "../../src/client/models.ts";
import { delayFinding, unmatchedDiskFinding } from "../analysis/findings.ts";
import { makeId } from "../server/pseudoRandom.ts";
import {
  ADMIN,
  CROWD,
  createAnswer,
  createFix,
  createHost,
  createHypothesis,
  createIncident,
  createMissingAnswer,
  createRuleAnswer,
  createStep,
  FRAME_PIN,
  LENA,
  LINE_PIN,
  localize,
  runIdOf,
  THIRD,
  toTime,
  UNHEALTHY,
  unmatchedDelayFinding,
  WEI,
  WELL,
  WHOLE_HOST,
} from "./incidentParts.ts";
import { createVerification, createWindow, VERIFICATION_RESULT } from "./verifications.ts";

/** Incident with three hosts, one of which contradicts the others, two related causes, and an open next step. */
export const FULL_INCIDENT = createIncident(42, {
  title: "feed: p99 2.3 s since 02:14",
  state: "investigating",
  severity: 2,
  symptom: {
    service: "feed",
    description: "Requests take four times as long; the service computes no more than before.",
    rate: { before: 812, after: 790, unit: "req/s" },
    errors: { before: 0.1, after: 1.9, unit: "%" },
    latency: { before: 520, after: 2300, unit: "ms" },
    since: toTime("02:14:00"),
  },
  hosts: [
    createHost(UNHEALTHY, "suspect", { kind: "cgroup", value: "/svc/feed" }),
    createHost(WELL, "control", WHOLE_HOST),
    createHost(THIRD, "suspect", WHOLE_HOST),
  ],
  playbooks: [
    {
      id: CROWD.id,
      digest: "9f".padEnd(64, "2"),
      title: CROWD.title,
      current: true,
      state: "active",
      dismissed: null,
    },
  ],
  hypotheses: [
    createHypothesis("crowd", {
      state: "likely",
      status: "supported",
      strength: "mechanism",
      supports: [`${CROWD.id}/waiting`],
    }),
    createHypothesis("lock", {}),
    createHypothesis("disk", { state: "refuted", status: "refuted", refutes: [`${CROWD.id}/disk`] }),
    createHypothesis("queue", {
      key: "own/1",
      summary: localize("The listen queue overflows once threads wait", "线程一等待，监听队列就溢出"),
      cause: "listen-queue-overflow",
      state: "likely",
    }),
  ],
  steps: [
    createStep("waiting", [
      createRuleAnswer(UNHEALTHY, "supports", delayFinding),
      createRuleAnswer(WELL, "refutes", unmatchedDelayFinding),
      createMissingAnswer(THIRD, "perf_sched"),
    ]),
    createStep("pool", [
      createAnswer(UNHEALTHY, {
        run_id: runIdOf(UNHEALTHY, 472),
        verdict: "supports",
        by: "person",
        person: {
          id: makeId("verdict", 1),
          verdict: "supports",
          by: WEI,
          note: "412 threads named feed-worker; the quota is four cores.",
          at: toTime("02:37:00"),
          pins: [LINE_PIN.id],
        },
        pins: [LINE_PIN.id],
        disagrees: true,
      }),
      createAnswer(WELL, { reason: { key: "playbook.needs_person", params: {} } }),
    ]),
    createStep("lock", [
      createMissingAnswer(UNHEALTHY, "perf_sched"),
      createMissingAnswer(THIRD, "perf_sched"),
    ]),
    createStep("disk", [createRuleAnswer(UNHEALTHY, "refutes", unmatchedDiskFinding)], { on_path: false }),
  ],
  gaps: [`${CROWD.id}/lock`],
  next: {
    step: `${CROWD.id}/lock`,
    host_id: UNHEALTHY.id,
    collectors: ["perf_sched"],
    tier: "deep",
    cost: { cpu_pct: 15.2, seconds: 5, bytes: 26_214_400 },
    commands: [{ collector: "perf_sched", text: "perf sched record -a -o - -- sleep 5" }],
    why: { key: "next.settles", params: { about: "lock", open: 1, tier: "deep" } },
  },
  causes: [
    { hypothesis: `${CROWD.id}/crowd`, cause: "cpu-oversubscribed", confidence: "likely" },
    { hypothesis: "own/1", cause: "listen-queue-overflow", confidence: "likely" },
  ],
  fixes: [createFix(1, { state: "verified", verifications: [createVerification({})] })],
  pins: [LINE_PIN, FRAME_PIN],
  runs: [
    {
      run_id: runIdOf(UNHEALTHY, 472),
      capture_id: makeId("capture", 472),
      number: 472,
      host_id: UNHEALTHY.id,
      role: "evidence",
      plan: "sched",
      from: toTime("02:01:30"),
      to: toTime("02:01:35"),
      state: "done",
      step: `${CROWD.id}/waiting`,
      fix_id: null,
    },
  ],
  needs_symptom_check: true,
});

/** New incident with only a symptom. */
export const NEW_INCIDENT = createIncident(41, {
  title: "search: timeouts in sin1",
  symptom: {
    ...FULL_INCIDENT.symptom,
    service: "search",
    description: "",
    rate: null,
    latency: null,
    since: null,
  },
  people: [{ ...ADMIN, is_present: true }],
  owner: null,
  created_at: toTime("02:39:00"),
});

/** Incident whose fix changed nothing; its next verification failed. */
export const FAILED_FIX_INCIDENT = createIncident(40, {
  ...FULL_INCIDENT,
  id: makeId("incident", 40),
  number: 40,
  title: "ads: CPU at 100 % after the release",
  state: "mitigated",
  severity: 3,
  steps: FULL_INCIDENT.steps.slice(0, 1),
  gaps: [],
  next: null,
  needs_symptom_check: false,
  causes: FULL_INCIDENT.causes.slice(0, 1),
  hypotheses: FULL_INCIDENT.hypotheses.slice(0, 1),
  fixes: [
    createFix(2, {
      what: "More workers",
      state: "no_conclusion",
      verifications: [
        createVerification({
          kind: "plain",
          control_host_id: null,
          result: {
            ...VERIFICATION_RESULT,
            outcome: "no_conclusion",
            change: -0.08,
            low: -0.31,
            high: 0.15,
            reasons: [{ key: "verify.too_wide", params: { minimum_change: 10 } }],
            windows: [
              ...[44.1, 41.7, 47.9].map((mean, i) => createWindow("before", i, mean, 810)),
              ...[40.2, 31.8, 49.9].map((mean, i) => createWindow("after", 10 + i, mean, 800)),
            ],
          },
        }),
        createVerification({
          id: makeId("verification", 2),
          kind: "plain",
          control_host_id: null,
          state: "failed",
          result: null,
          failure: { key: "verify.few_windows", params: { least: 3 } },
        }),
      ],
    }),
  ],
});

/** Incident without a decision. */
export const UNDECIDED_INCIDENT = createIncident(39, {
  ...FULL_INCIDENT,
  id: makeId("incident", 39),
  number: 39,
  title: "feed: slow once more",
  hypotheses: FULL_INCIDENT.hypotheses.slice(0, 2).map((hypothesis) => ({ ...hypothesis, state: "open" })),
  causes: [],
  fixes: [],
  needs_symptom_check: false,
});

export const INCIDENTS: T.Incident[] = [FULL_INCIDENT, NEW_INCIDENT, FAILED_FIX_INCIDENT, UNDECIDED_INCIDENT];

const entry = (
  version: number,
  kind: string,
  by: T.HostRef | null,
  params: T.JournalEntry["params"] = {},
  note = "",
): T.JournalEntry => ({
  id: makeId("journal", version),
  version,
  kind,
  params,
  note,
  by,
  at: toTime(`02:${20 + version * 2}:00`),
});

export const JOURNAL: T.JournalEntry[] = [
  entry(1, "incident_created", LENA, { title: FULL_INCIDENT.title }),
  entry(2, "hosts_added", LENA, { hosts: [UNHEALTHY.name, WELL.name, THIRD.name].join(", ") }),
  entry(3, "pin_added", LENA, { what: "line", step: "requests-wait-for-cpu/waiting" }),
  entry(4, "fix_applied", LENA, { what: "GOMAXPROCS 300 → 4" }),
  entry(
    5,
    "verdict_added",
    WEI,
    { step: "requests-wait-for-cpu/pool", verdict: "supports" },
    "412 threads named feed-worker",
  ),
  entry(6, "note_added", LENA, {}, "The pool was set from the CPUs of the machine, not of the group."),
  entry(7, "verification_started", null, { what: "GOMAXPROCS 300 → 4", how: "control" }),
];
