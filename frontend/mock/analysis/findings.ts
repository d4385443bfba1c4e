import type {
  Cited,
  Diagnosis,
  DiagnosisResult,
  DiagnosisStage,
  Difference,
  Evidence,
  Finding,
  HostFindings,
  Ranking,
  RunFindings,
  Subject,
} from "../src/client/types.ts";
import { begin, cancel as cancelCapture, read } from "./live.ts";
import { id } from "./noise.ts";
import { profilesOf } from "./profile.ts";
import { HOSTS } from "./world.ts";

const HOST = HOSTS[1]!;
const RUN = id("run", HOST.id, 471);
const at = (collector: string, lines: number[], part = "samples"): Cited => ({
  run: RUN,
  collector,
  artifact: id("artifact", RUN, collector, "stdout"),
  part,
  lines,
});

interface Told {
  value: number;
  unit: string;
  /** Null where it was compared with nothing. */
  threshold: number | null;
  measure: string;
  op?: string;
  baseline?: number | null;
  n?: number;
  place?: Cited;
  /** What it is about where that is more than the finding. */
  about?: Subject | null;
}
const number = ({
  value,
  unit,
  threshold,
  measure,
  op = ">",
  baseline = null,
  n = 8,
  place,
  about = null,
}: Told) => ({
  measure,
  value,
  unit,
  op: threshold === null ? null : op,
  threshold,
  baseline,
  n,
  subject: about,
  citations: place ? [place] : [],
});

const finding = (rule: string, told: Told[], extra: Partial<Finding> = {}): Finding => ({
  rule,
  state: "fired",
  severity: "warn",
  grade: "mechanism",
  subject: {},
  numbers: told.map(number),
  reason: null,
  detail: {},
  ...extra,
});

function evidence(one: Finding): Evidence[] {
  return one.numbers.map(({ citations, measure, subject, ...rest }) => {
    const { artifact, ...locator } = citations[0] ?? {};
    return {
      ...rest,
      finding: one.rule,
      grade: one.grade,
      severity: one.severity,
      subject: subject ?? one.subject,
      metric: measure,
      artifact: artifact ?? null,
      locator,
      detail: one.detail,
    };
  });
}

export const delayFound = finding(
  "F-CPU-RUNQ-DELAY",
  [
    {
      measure: "sched.delay_per_switch",
      value: 44.1,
      unit: "ms",
      threshold: 20,
      baseline: 1.1,
      n: 12911,
      place: at("perf_sched", [1184, 1190, 1204, 1377], "sched.txt"),
    },
    {
      measure: "cpu.runnable.held",
      value: 300,
      unit: "",
      threshold: 1.5,
      baseline: 0.8,
      place: at("vmstat", [4, 5, 6, 7, 8]),
    },
  ],
  { severity: "critical", subject: { cgroup: "/svc/feed" } },
);
const gc = finding(
  "F-CPU-STACK-GC",
  [
    {
      measure: "stacks.gc_share",
      value: 38.2,
      unit: "pct",
      threshold: 25,
      baseline: 11.4,
      n: 59412,
      place: {
        run: RUN,
        collector: "perf_record",
        profile: profilesOf(HOST.id)[0]!.id,
        frame: "^runtime\\.(gc|scan)",
      },
    },
  ],
  { subject: { cgroup: "/svc/feed" }, detail: { frames: "runtime.gcDrain, runtime.scanobject" } },
);
const overflow = finding(
  "F-NET-LISTEN-OVERFLOW",
  [
    {
      measure: "tcp.listen_overflows_per_s.mean",
      value: 1586.13,
      unit: "per_s",
      threshold: 5,
      place: at("netstat_ext", [10, 59]),
    },
    {
      measure: "listener.fullest_queue_max",
      value: 129,
      unit: "count",
      threshold: null,
      n: 18,
      place: at("ss_listen", [76]),
    },
    {
      measure: "listener.fullest_backlog",
      value: 128,
      unit: "count",
      threshold: null,
      n: 18,
      place: at("ss_listen", [76]),
    },
  ],
  { severity: "critical", grade: "direct" },
);
export const quietDiskFound = finding(
  "F-DISK-AWAIT",
  [{ measure: "disk.r_await_ms.held", value: 1.4, unit: "ms", threshold: 20, place: at("iostat", [31, 62]) }],
  { state: "quiet", grade: "correlational", subject: { dev: "nvme0n1" } },
);
const quietMemory = finding(
  "F-MEM-RECLAIM",
  [{ measure: "psi.memory_some.mean", value: 0, unit: "pct", threshold: 10, place: at("psi", [3]) }],
  { state: "quiet" },
);
const doubtful = finding(
  "F-OFFCPU-LOCK",
  [
    {
      measure: "offcpu.futex_share",
      value: 61,
      unit: "pct",
      threshold: 40,
      n: 31,
      place: at("perf_sched", [77], "sched.txt"),
    },
  ],
  {
    state: "inconclusive",
    subject: { pid: "2214" },
    reason: { key: "doubt.few_samples", params: { samples: 31, least: 200 } },
  },
);
const load = finding(
  "F-LOAD-HIGH",
  [{ measure: "load.avg1.last", value: 287, unit: "", threshold: 64, place: at("loadavg", [8]) }],
  {
    grade: "context",
    severity: "info",
  },
);
const absent = finding("F-NUMA-REMOTE", [], {
  state: "not_evaluated",
  reason: { key: "missing.not_collected", params: { collector: "numastat" } },
});

const RANKING: Ranking = {
  causes: [
    {
      id: "cpu-oversubscribed",
      scope: { cgroup: "/svc/feed" },
      confidence: "likely",
      evidence: [...evidence(delayFound), ...evidence(gc)],
      explains: ["gc-pressure"],
    },
    {
      id: "listen-queue-overflow",
      scope: {},
      confidence: "possible",
      evidence: evidence(overflow),
      explains: [],
    },
  ],
  ruled_out: [
    { id: "disk-saturated", by: evidence(quietDiskFound) },
    { id: "memory-limit-low", by: evidence(quietMemory) },
  ],
  not_looked_at: ["numa-misplaced"],
  open: ["lock-contention"],
  not_collected: [{ finding: absent.rule, reason: absent.reason }],
  inconclusive: [doubtful],
  set_aside: [],
  context: [load],
};
const HEALTHY: Ranking = {
  ...RANKING,
  causes: [],
  open: [],
  inconclusive: [],
  context: [],
};

export const runFindings = (runId: string): RunFindings => ({
  run_id: runId,
  evaluated_at: "2026-11-21T02:01:20Z",
  elapsed_ms: 41,
  findings: [gc, overflow, delayFound, load],
  quiet: [quietDiskFound, quietMemory],
  not_evaluated: [absent],
  ranking: RANKING,
});

/** The second host is sick, the third is well, the others were never looked at. */
export function hostFindings(hostId: string): HostFindings | null {
  const which = HOSTS.findIndex((one) => one.id === hostId);
  if (which !== 1 && which !== 2) return null;
  const found = runFindings(id("run", hostId, 471));
  return {
    ...found,
    ...(which === 2 ? { findings: [], ranking: HEALTHY } : {}),
    run_ended_at: "2026-11-21T02:01:00Z",
    plan: "cpu",
  };
}

const stage = (captureId: string, extra: Partial<DiagnosisStage> = {}): DiagnosisStage => ({
  capture_id: captureId,
  run_id: read(captureId)?.runs[0]?.id ?? null,
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

const DIFFERENCES: Difference[] = [
  {
    kind: "setting",
    name: "cgroup_cpu[/svc/feed].quota_cores",
    here: 4,
    there: { "feed-fra2-002": 64, "feed-sin1-003": 64 },
    surprise: 1,
    agree: 1,
  },
  {
    kind: "fact",
    name: "kernel",
    here: "6.1.0-27-amd64",
    there: { "feed-fra2-002": "6.1.0-31-amd64", "feed-sin1-003": "6.1.0-31-amd64" },
    surprise: 1,
    agree: 1,
  },
  {
    kind: "stack",
    name: "runtime.gcDrain",
    here: 31.4,
    there: { "feed-fra2-002": 4.1, "feed-sin1-003": 3.8 },
    surprise: 0.55,
    agree: 1,
  },
  {
    kind: "metric",
    name: "disk.w_await_ms{dev=nvme0n1}",
    here: 9.1,
    there: { "feed-fra2-002": 1.2, "feed-sin1-003": 1.4 },
    surprise: 0.31,
    agree: 1,
  },
];

const result = (ranking: Ranking, differences: Difference[] = []): DiagnosisResult => ({
  ...ranking,
  refused: [],
  runs: [RUN],
  baseline_run: id("run", HOST.id, 470),
  differences,
  seconds: 21.4,
});

const diagnosis = (number: number, extra: Partial<Diagnosis>): Diagnosis => ({
  id: id("diagnosis", number),
  number,
  host: { id: HOST.id, name: HOST.name },
  scope: {},
  seconds: 8,
  baseline: "auto",
  baseline_run_id: null,
  twins: [],
  reason: "",
  state: "done",
  stages: [stage(id("capture", 470))],
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
    baseline_run_id: id("run", HOST.id, 470),
    twins: HOSTS.slice(2, 4).map(({ id: hostId, name }) => ({ id: hostId, name })),
    stages: [
      stage(id("capture", 470)),
      stage(id("capture", 472), {
        tier: "deep",
        seconds: 5,
        collectors: { perf_sched: 2, perf_record: 5 },
        hypotheses: ["cpu-oversubscribed", "gc-pressure"],
        cpu_pct: 16.4,
        host_cpu_ms: 911,
      }),
    ],
    result: { ...result(RANKING, DIFFERENCES), refused: ["strace"] },
    elapsed_s: 21.4,
  }),
  diagnosis(13, { host: { id: HOSTS[2]!.id, name: HOSTS[2]!.name }, result: result(HEALTHY) }),
  diagnosis(12, {
    state: "failed",
    failure: { key: "diagnosis.nothing_came_home", params: {} },
    stages: [stage(id("capture", 470), { state: "failed", host_cpu_ms: null })],
    elapsed_s: 31.2,
  }),
  diagnosis(11, {
    state: "cancelled",
    stages: [stage(id("capture", 470), { state: "cancelled" })],
    elapsed_s: 4.1,
  }),
];

interface Going {
  diagnosis: Diagnosis;
  began: number;
  captures: string[];
}
const going = new Map<string, Going>();

/** A diagnosis that goes on while it is watched: a first look, then the answer. */
export function ask(body: Record<string, unknown>): Diagnosis | undefined {
  const host = HOSTS.find((one) => one.id === body.host_id);
  if (!host) return undefined;
  const seconds = Number(body.seconds ?? 8);
  const twins = HOSTS.filter((one) => ((body.twin_ids as string[]) ?? []).includes(one.id));
  const capture = begin([host, ...twins], "triage", seconds, "diagnosis, stage 1");
  const made = diagnosis(20 + going.size, {
    host: { id: host.id, name: host.name },
    scope: (body.scope as Diagnosis["scope"]) ?? {},
    seconds,
    twins: twins.map(({ id: twinId, name }) => ({ id: twinId, name })),
    reason: String(body.reason ?? ""),
    state: "running",
    ended_at: null,
    created_at: new Date().toISOString(),
  });
  going.set(made.id, { diagnosis: made, began: Date.now(), captures: [capture.id] });
  return readDiagnosis(made.id);
}

export function readDiagnosis(diagnosisId: string): Diagnosis | undefined {
  const found = going.get(diagnosisId);
  if (!found) return DIAGNOSES.find((one) => one.id === diagnosisId);
  const captures = found.captures.flatMap((one) => read(one) ?? []);
  const stages = captures.map((one) =>
    stage(one.id, {
      state: one.runs[0]?.state ?? "queued",
      seconds: found.diagnosis.seconds,
      host_cpu_ms: one.runs[0]?.host_cpu_ms ?? null,
    }),
  );
  const elapsed_s = (Date.now() - found.began) / 1000;
  const over = found.diagnosis.state === "running" && elapsed_s > found.diagnosis.seconds + 7;
  return {
    ...found.diagnosis,
    stages,
    elapsed_s,
    ...(over ? { state: "done" as const, ended_at: new Date().toISOString(), result: result(RANKING) } : {}),
  };
}

export function cancelDiagnosis(diagnosisId: string): Diagnosis | undefined {
  const found = going.get(diagnosisId);
  if (found) {
    found.diagnosis = { ...found.diagnosis, state: "cancelled", ended_at: new Date().toISOString() };
    for (const one of found.captures) cancelCapture(one);
  }
  return readDiagnosis(diagnosisId);
}

export const allDiagnoses = (): Diagnosis[] => [
  ...[...going.keys()].reverse().flatMap((one) => readDiagnosis(one) ?? []),
  ...DIAGNOSES,
];
