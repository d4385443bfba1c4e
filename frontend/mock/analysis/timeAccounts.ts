/** Time accounts of services: one host with a cause, one with unexplained time. */
import type { Cited } from "../../src/features/incidents/api.ts";
import type {
  BoundedShare,
  Consumer,
  DeeperCapture,
  TimeAccount,
  TimeShare,
} from "../../src/widgets/findings/api.ts";
import { HOSTS } from "../dataset.ts";
import { makeId } from "../server/pseudoRandom.ts";

const RUN = makeId("run", HOSTS[1]!.id, 471);
const at = (lines: number[], part = "threads"): Cited => ({
  run: RUN,
  collector: "proc_threads",
  artifact: makeId("artifact", RUN, "proc_threads", "stdout"),
  part,
  lines,
  profile: "",
  frame: "",
});

export const createShare = (pct: number, low_pct = pct, high_pct = pct): BoundedShare => ({
  pct,
  low_pct,
  high_pct,
});

const share = (
  activity: string,
  pct: BoundedShare,
  line: number,
  extra: Partial<TimeShare> = {},
): TimeShare => ({
  activity,
  target: "",
  operation: "",
  callee: null,
  wall_pct: pct.pct * 0.6,
  share: pct,
  longest_ms: 0,
  sample_count: Math.round(pct.pct * 4),
  citations: [at([line, line + 80])],
  ...extra,
});

const account = (service: string, extra: Partial<TimeAccount>): TimeAccount => ({
  service,
  subject: {},
  process_count: 1,
  is_harmed: false,
  waiting: 0,
  queued: 0,
  oldest_ms: 0,
  sample_count: 412,
  busy_pct: 61,
  citations: [at([4])],
  shares: [],
  idle: [],
  ran_instead: [],
  ...extra,
});

const idle = (activity: string, wall_pct: number, line: number): TimeShare => ({
  ...share(activity, createShare(0), line),
  wall_pct,
  share: null,
});

const DATABASE = { service: "mariadbd", subject: { pid: "1388", cgroup: "/system.slice/mariadb.service" } };

/** The feed service waits for a CPU; its database answers in time. */
export const CPU_ACCOUNTS: TimeAccount[] = [
  account("feed", {
    subject: { pid: "2214", cgroup: "/svc/feed" },
    process_count: 4,
    is_harmed: true,
    waiting: 14.2,
    queued: 128,
    oldest_ms: 2310,
    shares: [
      share("runnable", createShare(62), 31),
      share("running", createShare(17), 30),
      share("peer", createShare(15, 12, 19), 44, {
        target: "127.0.0.1:3306",
        operation: "recvfrom",
        callee: DATABASE,
        longest_ms: 44,
      }),
      share("unknown", createShare(6, 2, 9), 52),
    ],
    idle: [idle("events", 31, 58), idle("condition", 8, 59)],
    ran_instead: [{ name: "batch-index", pid: "9120", pct: 71 }],
  }),
  account(DATABASE.service, {
    subject: DATABASE.subject,
    waiting: 1.3,
    oldest_ms: 38,
    busy_pct: 24,
    shares: [
      share("running", createShare(58), 90),
      share("disk", createShare(29, 21, 38), 96, { target: "nvme0n1", operation: "fsync", longest_ms: 9.4 }),
      share("lock", createShare(8, 3, 14), 99, { target: "0x7f21a4c0", operation: "futex", longest_ms: 4.1 }),
      share("unknown", createShare(5, 1, 9), 101),
    ],
    idle: [idle("condition", 76, 104)],
  }),
];

/** PHP waits for a service on another host, and no rule explains its delay. */
export const UNEXPLAINED_ACCOUNTS: TimeAccount[] = [
  account("php-fpm", {
    subject: { pid: "812", cgroup: "/system.slice/php8.2-fpm.service" },
    process_count: 12,
    is_harmed: true,
    waiting: 11.4,
    queued: 3,
    oldest_ms: 1840,
    busy_pct: 95,
    shares: [
      share("peer", createShare(59, 51, 66), 12, {
        target: "10.4.0.17:8080",
        operation: "poll",
        longest_ms: 1795,
      }),
      share("unknown", createShare(34, 27, 42), 17, { longest_ms: 310 }),
      share("running", createShare(7), 11),
    ],
    idle: [idle("accept", 5, 21)],
  }),
];

export const CONSUMERS: Consumer[] = [
  { resource: "cpu", pid: 9120, name: "batch-index", amount: 71.2, unit: "pct", share_pct: 44 },
  { resource: "cpu", pid: 812, name: "php-fpm", amount: 12.4, unit: "pct", share_pct: 7.7 },
  { resource: "memory", pid: 1388, name: "mariadbd", amount: 5_905_580_032, unit: "bytes", share_pct: 36 },
  {
    resource: "disk_write",
    pid: 1388,
    name: "mariadbd",
    amount: 4_120_000,
    unit: "bytes_per_s",
    share_pct: 88,
  },
];

export const DEEPER_CAPTURES: DeeperCapture[] = [
  { collector: "perf_record", tier: "standard", seconds: 8, cpu_pct: 1.5, decides: ["gc-pressure"] },
  {
    collector: "perf_sched",
    tier: "deep",
    seconds: 5,
    cpu_pct: 16,
    decides: ["cpu-oversubscribed", "lock-contention"],
  },
];
