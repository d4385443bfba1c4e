import type { Sched, SchedLanes } from "../src/client/types.ts";
import { hash } from "./noise.ts";

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

export const sched = (): Sched => ({
  samples: 1_636_248,
  lost: 3120,
  lost_share: 0.0019,
  duration_ms: 5012,
  tasks: Array.from({ length: 140 }, (_, i) => {
    const avg = 44 * hash("avg", i) ** 4;
    return {
      task: `${TASKS[i % TASKS.length]}`,
      pid: 4000 + i * 13,
      tid: 4000 + i * 13,
      runtime_ms: 5000 * hash("rt", i) ** 3,
      switches: Math.floor(60000 * hash("sw", i) ** 3),
      delay_avg_ms: avg,
      delay_p99_ms: avg * (3 + hash("p", i) * 4),
      delay_max_ms: avg * (8 + hash("m", i) * 10),
      delay_max_at_ns: 1_795_228_400e9 + hash("at", i) * 5e9,
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
  checked_against: { tool: "perf sched timehist", switches: 471_186, ours: 471_186 },
});

export function schedLanes(fromNs: number, toNs: number, cpus = 16): SchedLanes {
  return {
    t0_ns: fromNs,
    tasks: TASKS.map((task, i) => ({ task, pid: 4000 + i })),
    cpus: Array.from({ length: cpus }, (_, cpu) => {
      const segments: number[][] = [];
      let at = 0;
      for (let i = 0; at < toNs - fromNs && i < 400; i += 1) {
        const length = ((toNs - fromNs) / 160) * (0.2 + 2 * hash("len", cpu, i));
        if (hash("idle", cpu, i) > 0.25)
          segments.push([at, length, Math.floor(hash("task", cpu, i) * TASKS.length)]);
        at += length;
      }
      return { cpu, segments };
    }),
  };
}
