/** Incidents as the server would tell them: a rich one, an empty one, one whose fix failed. */
import type * as T from "../../src/client/models.ts";
import { delayFinding, quietDiskFinding } from "../analysis/findings.ts";
import { id } from "../server/noise.ts";
import {
  ADMIN,
  answer,
  at,
  byRule,
  CROWD,
  FRAME_PIN,
  fix,
  host,
  hypothesis,
  incident,
  LENA,
  LINE_PIN,
  missing,
  quietDelay,
  runOf,
  step,
  THIRD,
  two,
  UNHEALTHY,
  WEI,
  WELL,
  WHOLE,
} from "./incidentParts.ts";
import { JUDGED, verification, window } from "./verifications.ts";

/** Three hosts, of which one disagrees; two causes, one upon the other; a missing link that is next. */
export const RICH = incident(42, {
  title: "feed: p99 2.3 s since 02:14",
  state: "investigating",
  severity: 2,
  symptom: {
    service: "feed",
    description: "Requests take four times as long; the service computes no more than before.",
    rate: { before: 812, after: 790, unit: "req/s" },
    errors: { before: 0.1, after: 1.9, unit: "%" },
    latency: { before: 520, after: 2300, unit: "ms" },
    since: at("02:14:00"),
  },
  hosts: [
    host(UNHEALTHY, "suspect", { kind: "cgroup", value: "/svc/feed" }),
    host(WELL, "control", WHOLE),
    host(THIRD, "suspect", WHOLE),
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
    hypothesis("crowd", {
      state: "likely",
      status: "supported",
      strength: "mechanism",
      supports: [`${CROWD.id}/waiting`],
    }),
    hypothesis("lock", {}),
    hypothesis("disk", { state: "refuted", status: "refuted", refutes: [`${CROWD.id}/disk`] }),
    hypothesis("queue", {
      key: "own/1",
      summary: two("The listen queue overflows once threads wait", "线程一等待，监听队列就溢出"),
      cause: "listen-queue-overflow",
      state: "likely",
    }),
  ],
  steps: [
    step("waiting", [
      byRule(UNHEALTHY, "supports", delayFinding),
      byRule(WELL, "refutes", quietDelay),
      missing(THIRD, "perf_sched"),
    ]),
    step("pool", [
      answer(UNHEALTHY, {
        run_id: runOf(UNHEALTHY, 472),
        verdict: "supports",
        by: "person",
        person: {
          id: id("verdict", 1),
          verdict: "supports",
          by: WEI,
          note: "412 threads named feed-worker; the quota is four cores.",
          at: at("02:37:00"),
          pins: [LINE_PIN.id],
        },
        pins: [LINE_PIN.id],
        disagrees: true,
      }),
      answer(WELL, { reason: { key: "playbook.needs_person", params: {} } }),
    ]),
    step("lock", [missing(UNHEALTHY, "perf_sched"), missing(THIRD, "perf_sched")]),
    step("disk", [byRule(UNHEALTHY, "refutes", quietDiskFinding)], { on_path: false }),
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
  fixes: [fix(1, { state: "verified", verifications: [verification({})] })],
  pins: [LINE_PIN, FRAME_PIN],
  runs: [
    {
      run_id: runOf(UNHEALTHY, 472),
      capture_id: id("capture", 472),
      number: 472,
      host_id: UNHEALTHY.id,
      role: "evidence",
      plan: "sched",
      from: at("02:01:30"),
      to: at("02:01:35"),
      state: "done",
      step: `${CROWD.id}/waiting`,
      fix_id: null,
    },
  ],
  needs_symptom_check: true,
});

/** Just opened: nothing but a symptom. */
export const BARE = incident(41, {
  title: "search: timeouts in sin1",
  symptom: { ...RICH.symptom, service: "search", description: "", rate: null, latency: null, since: null },
  people: [{ ...ADMIN, is_present: true }],
  owner: null,
  created_at: at("02:39:00"),
});

/** Its fix changed nothing, and the next comparison could not be made. */
export const FAILED = incident(40, {
  ...RICH,
  id: id("incident", 40),
  number: 40,
  title: "ads: CPU at 100 % after the release",
  state: "mitigated",
  severity: 3,
  steps: RICH.steps.slice(0, 1),
  gaps: [],
  next: null,
  needs_symptom_check: false,
  causes: RICH.causes.slice(0, 1),
  hypotheses: RICH.hypotheses.slice(0, 1),
  fixes: [
    fix(2, {
      what: "More workers",
      state: "no_conclusion",
      verifications: [
        verification({
          kind: "plain",
          control_host_id: null,
          result: {
            ...JUDGED,
            outcome: "no_conclusion",
            change: -0.08,
            low: -0.31,
            high: 0.15,
            reasons: [{ key: "verify.too_wide", params: { minimum_change: 10 } }],
            windows: [
              ...[44.1, 41.7, 47.9].map((mean, i) => window("before", i, mean, 810)),
              ...[40.2, 31.8, 49.9].map((mean, i) => window("after", 10 + i, mean, 800)),
            ],
          },
        }),
        verification({
          id: id("verification", 2),
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

/** An incident without any decision. */
export const UNDECIDED = incident(39, {
  ...RICH,
  id: id("incident", 39),
  number: 39,
  title: "feed: slow once more",
  hypotheses: RICH.hypotheses.slice(0, 2).map((hypothesis) => ({ ...hypothesis, state: "open" })),
  causes: [],
  fixes: [],
  needs_symptom_check: false,
});

export const INCIDENTS: T.Incident[] = [RICH, BARE, FAILED, UNDECIDED];

const entry = (
  version: number,
  kind: string,
  by: T.Named | null,
  params: T.JournalEntry["params"] = {},
  note = "",
): T.JournalEntry => ({
  id: id("journal", version),
  version,
  kind,
  params,
  note,
  by,
  at: at(`02:${20 + version * 2}:00`),
});

export const JOURNAL: T.JournalEntry[] = [
  entry(1, "incident_created", LENA, { title: RICH.title }),
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
