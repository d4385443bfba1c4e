import type { Sched, SchedTracks } from "../../src/widgets/scheduler/api.ts";
import { hashToUnit } from "../server/pseudoRandom.ts";

const TASKS = [
  "feed-worker",
  "feed-io",
  "kworker/3:1",
  "ksoftirqd/3",
  "swapper",
  "java",
  "nginx",
  "rcu_sched",
  "containerd",
  "sshd",
];

export const createScheduler = (): Sched => ({
  profile_id: "",
  events: 1_636_248,
  inconsistent: 0,
  tasks_total: 140,
  run_queue: { t0_ns: 0, bin_ns: 0, mean: [], peak: [] },
  samples: 1_636_248,
  lost: 3120,
  lost_share: 0.0019,
  duration_ms: 5012,
  tasks: Array.from({ length: 140 }, (_, i) => {
    const avg = 44 * hashToUnit("avg", i) ** 4;
    return {
      task: `${TASKS[i % TASKS.length]}`,
      pid: 4000 + i * 13,
      tid: 4000 + i * 13,
      prio: 120,
      waits: 0,
      delay_sum_ms: 0,
      runtime_ms: 5000 * hashToUnit("rt", i) ** 3,
      switches: Math.floor(60000 * hashToUnit("sw", i) ** 3),
      delay_avg_ms: avg,
      delay_p99_ms: avg * (3 + hashToUnit("p", i) * 4),
      delay_max_ms: avg * (8 + hashToUnit("m", i) * 10),
      delay_max_at_ns: 1_795_228_400e9 + hashToUnit("at", i) * 5e9,
    };
  }),
  histogram: {
    edges_us: Array.from({ length: 22 }, (_, i) => 2 ** i),
    counts: Array.from({ length: 21 }, (_, i) =>
      Math.floor(90000 * Math.exp(-((i - 6) ** 2) / 8) + 12000 * Math.exp(-((i - 15) ** 2) / 3)),
    ),
  },
  t0_ns: 1_795_228_400e9,
  t1_ns: 1_795_228_405e9,
  checked_against: { tool: "perf sched timehist", switches: 471_186, parsed_switches: 471_186, run_ms: null },
});

export function createSchedulerTracks(
  fromNs: number,
  toNs: number,
  by: string | null,
  cpus = 16,
): SchedTracks {
  const span = toNs - fromNs;
  const threads = by === "thread";
  const tasks = TASKS.map((task, i) => ({ task, pid: 4000 + i, tid: 4000 + i }));
  const segmentsOf = (name: string, at: number, indexes: number): number[][] => {
    const segments: number[][] = [];
    let offset = 0;
    for (let i = 0; offset < span && i < 400; i += 1) {
      const length = (span / 160) * (0.2 + 2 * hashToUnit(name, at, i));
      if (hashToUnit("idle", at, i) > 0.25)
        segments.push([offset, length, Math.floor(hashToUnit("index", at, i) * indexes), 1]);
      offset += length;
    }
    return segments;
  };
  return {
    t0_ns: fromNs,
    t1_ns: toNs,
    tasks,
    cpus: threads
      ? []
      : Array.from({ length: cpus }, (_, cpu) => ({ cpu, segments: segmentsOf("cpu", cpu, TASKS.length) })),
    threads: threads
      ? TASKS.map((_, task) => ({
          task,
          segments: segmentsOf("thread", task, cpus),
          waits: [[span * 0.1 * hashToUnit("wait", task), span / 200, 1, 1]],
        }))
      : [],
    threads_total: threads ? TASKS.length : 0,
    wakeups: Array.from({ length: 20 }, (_, i) => ({
      offset_ns: span * hashToUnit("wake", i),
      delay_ns: (span / 100) * hashToUnit("delay", i),
      task: Math.floor(hashToUnit("woken", i) * TASKS.length),
      waker: Math.floor(hashToUnit("waker", i) * TASKS.length),
      from_cpu: Math.floor(hashToUnit("from", i) * cpus),
      to_cpu: Math.floor(hashToUnit("to", i) * cpus),
      context: i % 3 === 0 ? ("hard_interrupt" as const) : ("thread" as const),
    })),
    wakeups_total: 20,
  };
}
