import type { Diagnosis, PeerDifference } from "../../src/client/models.ts";
import type { DiagnosisStage } from "../../src/features/diagnoses/api.ts";
import type { Ranking } from "../../src/widgets/findings/api.ts";
import { cancelCapture, findCapture, startCapture } from "../captures/live.ts";
import { HOSTS } from "../dataset.ts";
import { makeId } from "../server/pseudoRandom.ts";
import { HEALTHY_RANKING, HOST, RUN, UNEXPLAINED_RANKING, UNHEALTHY_RANKING } from "./findings.ts";
import { CONSUMERS, DEEPER_CAPTURES } from "./timeAccounts.ts";

const stage = (captureId: string, extra: Partial<DiagnosisStage> = {}): DiagnosisStage => ({
  capture_id: captureId,
  run_id: findCapture(captureId)?.runs[0]?.id ?? null,
  state: "done",
  tier: "light",
  seconds: 8,
  collectors: { cpu_stat: 8, iostat: 8, psi: 8, vmstat: 8, softirqs: 8, loadavg: 8 },
  hypotheses: [],
  refused: [],
  scope: {},
  cpu_pct: 0.54,
  host_cpu_ms: 118,
  ...extra,
});

const NAMED: DiagnosisStage["named"] = UNHEALTHY_RANKING.causes.map(({ id: cause, confidence }) => ({
  cause,
  confidence: confidence === "possible" ? "possible" : "likely",
}));

const DIFFERENCES: PeerDifference[] = [
  {
    kind: "setting",
    name: "cgroup_cpu[/svc/feed].quota_cores",
    local: 4,
    peers: { "feed-fra2-002": 64, "feed-sin1-003": 64 },
    surprise_score: 1,
    agreement: 1,
  },
  {
    kind: "fact",
    name: "kernel",
    local: "6.1.0-27-amd64",
    peers: { "feed-fra2-002": "6.1.0-31-amd64", "feed-sin1-003": "6.1.0-31-amd64" },
    surprise_score: 1,
    agreement: 1,
  },
  {
    kind: "stack",
    name: "runtime.gcDrain",
    local: 31.4,
    peers: { "feed-fra2-002": 4.1, "feed-sin1-003": 3.8 },
    surprise_score: 0.55,
    agreement: 1,
  },
  {
    kind: "metric",
    name: "disk.w_await_ms{dev=nvme0n1}",
    local: 9.1,
    peers: { "feed-fra2-002": 1.2, "feed-sin1-003": 1.4 },
    surprise_score: 0.31,
    agreement: 1,
  },
];

const result = (ranking: Ranking, differences: PeerDifference[] = []): NonNullable<Diagnosis["result"]> => ({
  ...ranking,
  refused: [],
  runs: [RUN],
  baseline_run: makeId("run", HOST.id, 470),
  differences,
  seconds: 21.4,
});

const diagnosis = (number: number, extra: Partial<Diagnosis>): Diagnosis => ({
  id: makeId("diagnosis", number),
  number,
  host: { id: HOST.id, name: HOST.name },
  scope: {},
  seconds: 8,
  baseline: "auto",
  baseline_run_id: null,
  max_tier: "deep",
  peers: [],
  reason: "",
  state: "done",
  stages: [stage(makeId("capture", 470))],
  result: null,
  failure: null,
  created_at: "2026-11-21T02:31:00Z",
  ended_at: "2026-11-21T02:31:14Z",
  elapsed_s: 13.9,
  ...extra,
});

export const DIAGNOSES: Diagnosis[] = [
  diagnosis(14, {
    scope: { kind: "cgroup", value: "/svc/feed" },
    reason: "p99 of feed is 2.3 s since 02:14",
    baseline_run_id: makeId("run", HOST.id, 470),
    peers: HOSTS.slice(2, 4).map(({ id: hostId, name }) => ({ id: hostId, name })),
    stages: [
      stage(makeId("capture", 470), {
        named: [{ cause: "cpu-exhausted", confidence: "possible" }],
        named_after_s: 11.2,
      }),
      stage(makeId("capture", 472), {
        named: NAMED,
        named_after_s: 21.1,
        tier: "deep",
        seconds: 5,
        collectors: { perf_sched: 2, perf_record: 5 },
        hypotheses: ["cpu-oversubscribed", "gc-pressure"],
        cpu_pct: 16.4,
        host_cpu_ms: 911,
      }),
    ],
    result: { ...result(UNHEALTHY_RANKING, DIFFERENCES), refused: ["strace"] },
    elapsed_s: 21.4,
  }),
  diagnosis(13, { host: { id: HOSTS[2]!.id, name: HOSTS[2]!.name }, result: result(HEALTHY_RANKING) }),
  diagnosis(12, {
    state: "failed",
    failure: { key: "diagnosis.no_data", params: {} },
    stages: [stage(makeId("capture", 470), { state: "failed", host_cpu_ms: null })],
    elapsed_s: 31.2,
  }),
  diagnosis(11, {
    state: "canceled",
    stages: [stage(makeId("capture", 470), { state: "canceled" })],
    elapsed_s: 4.1,
  }),
  diagnosis(10, {
    scope: { kind: "cgroup", value: "/system.slice/php8.2-fpm.service" },
    result: { ...result(UNEXPLAINED_RANKING), consumers: CONSUMERS, deeper: DEEPER_CAPTURES },
  }),
];

interface RunningDiagnosis {
  diagnosis: Diagnosis;
  began: number;
  captures: string[];
}
const running = new Map<string, RunningDiagnosis>();

/** Start a diagnosis that advances while it is displayed: a first stage, then the result. */
export function startDiagnosis(body: Record<string, unknown>): Diagnosis | undefined {
  const host = HOSTS.find((host) => host.id === body.host_id);
  if (!host) return undefined;
  const seconds = Number(body.seconds ?? 8);
  const peers = HOSTS.filter((host) => ((body.peer_ids as string[]) ?? []).includes(host.id));
  const capture = startCapture([host, ...peers], "triage", seconds, "diagnosis, stage 1");
  const newDiagnosis = diagnosis(20 + running.size, {
    host: { id: host.id, name: host.name },
    scope: (body.scope as Diagnosis["scope"]) ?? {},
    seconds,
    peers: peers.map(({ id: peerId, name }) => ({ id: peerId, name })),
    reason: String(body.reason ?? ""),
    state: "running",
    ended_at: null,
    created_at: new Date().toISOString(),
  });
  running.set(newDiagnosis.id, { diagnosis: newDiagnosis, began: Date.now(), captures: [capture.id] });
  return findDiagnosis(newDiagnosis.id);
}

export function findDiagnosis(diagnosisId: string): Diagnosis | undefined {
  const entry = running.get(diagnosisId);
  if (!entry) return DIAGNOSES.find((diagnosis) => diagnosis.id === diagnosisId);
  const captures = entry.captures.flatMap((capture) => findCapture(capture) ?? []);
  const stages = captures.map((capture) =>
    stage(capture.id, {
      state: capture.runs[0]?.state ?? "queued",
      seconds: entry.diagnosis.seconds,
      host_cpu_ms: capture.runs[0]?.host_cpu_ms ?? null,
      ...(capture.runs[0]?.state === "done" ? { named: NAMED, named_after_s: 11.4 } : {}),
    }),
  );
  const elapsed_s = (Date.now() - entry.began) / 1000;
  const over = entry.diagnosis.state === "running" && elapsed_s > entry.diagnosis.seconds + 7;
  return {
    ...entry.diagnosis,
    stages,
    elapsed_s,
    ...(over
      ? { state: "done" as const, ended_at: new Date().toISOString(), result: result(UNHEALTHY_RANKING) }
      : {}),
  };
}

export function cancelDiagnosis(diagnosisId: string): Diagnosis | undefined {
  const entry = running.get(diagnosisId);
  if (entry) {
    entry.diagnosis = { ...entry.diagnosis, state: "canceled", ended_at: new Date().toISOString() };
    for (const capture of entry.captures) cancelCapture(capture);
  }
  return findDiagnosis(diagnosisId);
}

export const listDiagnoses = (): Diagnosis[] => [
  ...[...running.keys()].reverse().flatMap((item) => findDiagnosis(item) ?? []),
  ...DIAGNOSES,
];
