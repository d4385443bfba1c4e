import type { Finding, HostFindings, RunFindings } from "../../src/client/models.ts";
import type { Cited } from "../../src/features/incidents/api.ts";
import type { Ranking, Subject } from "../../src/widgets/findings/api.ts";
import { listProfiles } from "../captures/profile.ts";
import { HOSTS } from "../dataset.ts";
import { makeId } from "../server/pseudoRandom.ts";
import { CPU_ACCOUNTS, createShare, UNEXPLAINED_ACCOUNTS } from "./timeAccounts.ts";

export const HOST = HOSTS[1]!;
export const RUN = makeId("run", HOST.id, 471);
const at = (collector: string, lines: number[], part = "samples"): Cited => ({
  run: RUN,
  collector,
  artifact: makeId("artifact", RUN, collector, "stdout"),
  part,
  lines,
  profile: "",
  frame: "",
});

interface NumberInput {
  value: number;
  unit: string;
  /** Null for a related number. */
  threshold: number | null;
  measure: string;
  op?: string;
  baseline?: number | null;
  sample_count?: number;
  place?: Cited;
  /** The 95 % interval of a sampled number. */
  within?: readonly [number, number];
  /** Its subject, if that differs from the subject of the finding. */
  about?: Subject | null;
}
const number = ({
  value,
  unit,
  threshold,
  measure,
  op = ">",
  baseline = null,
  sample_count = 8,
  place,
  within,
  about = null,
}: NumberInput) => ({
  measure,
  value,
  unit,
  op: threshold === null ? null : op,
  threshold,
  baseline,
  sample_count,
  kind: within ? ("sampled" as const) : ("exact" as const),
  low: within?.[0] ?? null,
  high: within?.[1] ?? null,
  subject: about,
  citations: place ? [place] : [],
});

const finding = (rule: string, inputs: NumberInput[], extra: Partial<Finding> = {}): Finding => ({
  rule,
  state: "matched",
  severity: "warn",
  strength: "mechanism",
  subject: {},
  numbers: inputs.map(number),
  reason: null,
  detail: {},
  ...extra,
});

function evidence(finding: Finding): Ranking["causes"][number]["evidence"][number][] {
  return finding.numbers.map(({ citations, measure, subject, ...rest }) => {
    const { artifact, ...locator } = citations[0] ?? at("", []);
    return {
      ...rest,
      finding: finding.rule,
      strength: finding.strength,
      severity: finding.severity,
      subject: subject ?? finding.subject,
      metric: measure,
      artifact: artifact ?? null,
      locator,
      detail: finding.detail,
    };
  });
}

export const delayFinding = finding(
  "F-CPU-RUNQ-DELAY",
  [
    {
      measure: "sched.delay_per_switch",
      value: 44.1,
      unit: "ms",
      threshold: 20,
      baseline: 1.1,
      sample_count: 12911,
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
const collectionFinding = finding(
  "F-CPU-STACK-GC",
  [
    {
      measure: "stacks.gc_share",
      value: 38.2,
      unit: "pct",
      threshold: 25,
      baseline: 11.4,
      sample_count: 59412,
      place: {
        run: RUN,
        collector: "perf_record",
        artifact: "",
        part: "",
        lines: [],
        profile: listProfiles(HOST.id)[0]!.id,
        frame: "^runtime\\.(gc|scan)",
      },
    },
  ],
  { subject: { cgroup: "/svc/feed" }, detail: { frames: "runtime.gcDrain, runtime.scanobject" } },
);
const overflowFinding = finding(
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
      sample_count: 18,
      place: at("ss_listen", [76]),
    },
    {
      measure: "listener.fullest_backlog",
      value: 128,
      unit: "count",
      threshold: null,
      sample_count: 18,
      place: at("ss_listen", [76]),
    },
  ],
  { severity: "critical", strength: "direct" },
);
export const unmatchedDiskFinding = finding(
  "F-DISK-AWAIT",
  [{ measure: "disk.r_await_ms.held", value: 1.4, unit: "ms", threshold: 20, place: at("iostat", [31, 62]) }],
  { state: "not_matched", strength: "correlational", subject: { dev: "nvme0n1" } },
);
const unmatchedMemoryFinding = finding(
  "F-MEM-RECLAIM",
  [{ measure: "psi.memory_some.mean", value: 0, unit: "pct", threshold: 10, place: at("psi", [3]) }],
  { state: "not_matched" },
);
const inconclusiveFinding = finding(
  "F-OFFCPU-LOCK",
  [
    {
      measure: "offcpu.futex_share",
      value: 61,
      unit: "pct",
      threshold: 40,
      sample_count: 31,
      place: at("perf_sched", [77], "sched.txt"),
    },
  ],
  {
    state: "inconclusive",
    subject: { pid: "2214" },
    reason: { key: "doubt.few_samples", params: { samples: 31, least: 200 } },
  },
);
const loadFinding = finding(
  "F-LOAD-HIGH",
  [{ measure: "load.avg1.last", value: 287, unit: "", threshold: 64, place: at("loadavg", [8]) }],
  {
    strength: "context",
    severity: "info",
  },
);
const harmOf = (name: string, subject: Subject, value: number, waiting: number, queued: number) =>
  finding(
    "F-SERVICE-WAITS",
    [
      {
        measure: "service.oldest_ms",
        value,
        unit: "ms",
        threshold: 1000,
        place: at("proc_threads", [4], "threads"),
      },
    ],
    { severity: "critical", strength: "context", subject, detail: { name, waiting, queued } },
  );
const quotaFinding = finding(
  "F-OFFCPU-LOCK",
  [
    {
      measure: "offcpu.futex_share",
      value: 38,
      unit: "pct",
      threshold: 40,
      sample_count: 212,
      within: [31, 46],
      place: at("perf_sched", [77], "sched.txt"),
    },
  ],
  {
    state: "inconclusive",
    subject: { pid: "812" },
    reason: { key: "doubt.few_samples", params: { samples: 212, least: 400 } },
  },
);
const notEvaluatedFinding = finding("F-NUMA-REMOTE", [], {
  state: "not_evaluated",
  reason: { key: "missing.not_collected", params: { collector: "numastat" } },
});

export const UNHEALTHY_RANKING: Ranking = {
  causes: [
    {
      id: "cpu-oversubscribed",
      scope: { cgroup: "/svc/feed" },
      confidence: "likely",
      evidence: [...evidence(delayFinding), ...evidence(collectionFinding)],
      explains: ["gc-pressure"],
      share: createShare(62, 55, 70),
    },
    {
      id: "listen-queue-overflow",
      scope: {},
      confidence: "possible",
      evidence: evidence(overflowFinding),
      explains: [],
    },
  ],
  ruled_out: [
    { id: "disk-saturated", by: evidence(unmatchedDiskFinding) },
    { id: "memory-limit-low", by: evidence(unmatchedMemoryFinding) },
  ],
  not_checked: ["numa-misplaced"],
  open: ["lock-contention"],
  not_collected: [{ finding: notEvaluatedFinding.rule, reason: notEvaluatedFinding.reason }],
  inconclusive: [inconclusiveFinding],
  refuted: [],
  harm: [harmOf("feed", { pid: "2214", cgroup: "/svc/feed" }, 2310, 14.2, 128)],
  context: [loadFinding],
  time_accounts: CPU_ACCOUNTS,
  unexplained_pct: 38,
};
export const HEALTHY_RANKING: Ranking = {
  ...UNHEALTHY_RANKING,
  causes: [],
  open: [],
  inconclusive: [],
  context: [],
  harm: [],
  time_accounts: [],
  unexplained_pct: null,
};
/** Requests wait, and the known causes explain only a part of the waiting time. */
export const UNEXPLAINED_RANKING: Ranking = {
  ...UNHEALTHY_RANKING,
  causes: [],
  inconclusive: [quotaFinding],
  harm: [harmOf("php-fpm", { pid: "812", cgroup: "/system.slice/php8.2-fpm.service" }, 1840, 11.4, 3)],
  time_accounts: UNEXPLAINED_ACCOUNTS,
  unexplained_pct: 100,
};

export const createRunFindings = (runId: string): RunFindings => ({
  run_id: runId,
  evaluated_at: "2026-11-21T02:01:20Z",
  elapsed_ms: 41,
  findings: [collectionFinding, overflowFinding, delayFinding, loadFinding],
  not_matched: [unmatchedDiskFinding, unmatchedMemoryFinding],
  not_evaluated: [notEvaluatedFinding],
  ranking: UNHEALTHY_RANKING,
});

/** The second host is unhealthy, the third is healthy, the others were never checked. */
export function findHostFindings(hostId: string): HostFindings | null {
  const which = HOSTS.findIndex((host) => host.id === hostId);
  if (which !== 1 && which !== 2) return null;
  const findings = createRunFindings(makeId("run", hostId, 471));
  return {
    ...findings,
    ...(which === 2 ? { findings: [], ranking: HEALTHY_RANKING } : {}),
    run_ended_at: "2026-11-21T02:01:00Z",
    plan: "cpu",
  };
}
