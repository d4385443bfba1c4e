import type { Capture, Host, RunCollector, RunState, RunSummary } from "../src/client/models.ts";
import type { CaptureBlock, HostEvent } from "../src/widgets/timeline/api.ts";
import { COLLECTORS, PLANS } from "./captures/catalog.ts";
import { hashToUnit, makeId, pickBySeed } from "./server/pseudoRandom.ts";

export const NOW_MS = Date.UTC(2026, 10, 21, 2, 40, 0);
export const NS_PER_S = 1e9;
const DAY_S = 86400;
const iso = (s: number): string => new Date(s * 1000).toISOString();
const now_s = NOW_MS / 1000;

const ROLES = ["feed", "search", "ads", "cache", "db", "edge", "queue"] as const;
const ZONES = ["ams1", "fra2", "sin1", "iad3"] as const;

export const HOSTS: Host[] = Array.from({ length: 500 }, (_, i) => {
  const role = i < 12 ? "feed" : pickBySeed(ROLES, "role", i);
  const dc = pickBySeed(ZONES, "dc", i);
  const name = i === 0 ? "this-machine" : `${role}-${dc}-${String(i).padStart(3, "0")}`;
  const cpus = i === 1 ? 256 : pickBySeed([8, 16, 32, 64, 96, 128], "cpus", i);
  const checked = i === 0 || hashToUnit("checked", i) > 0.15;
  return {
    id: makeId("host", i),
    name,
    created_at: "2026-11-01T08:00:00Z",
    address: i === 0 ? "127.0.0.1" : `10.${40 + (i % 4)}.${Math.floor(i / 250)}.${(i % 250) + 2}`,
    port: i === 0 ? 42022 : 22,
    username: i === 0 ? "root" : "culprit",
    credential: {
      id: makeId("cred", i % 3),
      name: ["fleet key", "breakglass", "lab agent"][i % 3] as string,
      kind: (["generated_key", "key", "agent"] as const)[i % 3] as "key",
    },
    sudo: i === 0 ? "none" : "nopasswd",
    jump_host: i % 9 === 4 ? { id: makeId("host", 3), name: "bastion" } : null,
    labels: i === 0 ? { role: "this" } : { role, dc, ...(i % 5 === 0 ? { tier: "canary" } : {}) },
    state: i % 83 === 82 ? "retired" : "active",
    host_key: {
      type: "ssh-ed25519",
      fingerprint: `SHA256:${btoa(String(hashToUnit("fp", i)) + String(hashToUnit("fq", i))).slice(0, 43)}`,
      trusted_at: iso(now_s - DAY_S * 40),
    },
    max_silence_s: 90,
    allows_ptrace: i === 0,
    facts: checked
      ? {
          kernel: pickBySeed(
            ["6.1.0-27-amd64", "5.15.0-126-generic", "6.8.0-49-generic", "4.18.0-553.el8"],
            "k",
            i,
          ),
          distro: pickBySeed(["Debian 12", "Ubuntu 22.04", "Ubuntu 24.04", "Rocky 8.10"], "k", i),
          arch: "x86_64",
          cpus,
          numa_nodes: cpus > 32 ? 2 : 1,
          cgroup: "v2",
          mem_bytes: cpus * 4 * 2 ** 30,
          virtualisation: "kvm",
        }
      : null,
    facts_at: checked ? iso(now_s - 3600 * (1 + (i % 50))) : null,
    last_run:
      hashToUnit("lr", i) > 0.5
        ? {
            id: makeId("run", i),
            state: pickBySeed<RunState>(["done", "done", "done", "partial", "failed", "running"], "lrs", i),
            at: iso(now_s - 600 * (1 + (i % 300))),
          }
        : null,
    captures: Math.floor(hashToUnit("nc", i) * 40),
  };
});

/** Captures of the overloaded host: one year, with an incident in the last hour. */
export interface TakenCapture {
  n: number;
  from: number;
  seconds: number;
  plan: string;
  state: RunState;
}
export const TAKEN_CAPTURES: TakenCapture[] = [
  ...Array.from({ length: 360 }, (_, i) => ({
    n: 100 + i,
    from: now_s - DAY_S * (360 - i) + Math.floor(hashToUnit("at", i) * 40000),
    seconds: pickBySeed([15, 30, 30, 60], "sec", i),
    plan: pickBySeed(["triage", "triage", "cpu", "baseline"], "plan", i),
    state: pickBySeed<RunState>(["done", "done", "done", "done", "partial"], "st", i),
  })),
  { n: 470, from: now_s - 3300, seconds: 15, plan: "triage", state: "done" as const },
  { n: 471, from: now_s - 2400, seconds: 60, plan: "cpu", state: "done" as const },
  { n: 472, from: now_s - 2310, seconds: 5, plan: "sched", state: "done" as const },
  { n: 473, from: now_s - 1500, seconds: 60, plan: "cpu", state: "partial" as const },
  { n: 474, from: now_s - 600, seconds: 120, plan: "cpu", state: "done" as const },
];

export const listCaptureBlocks = (hostId: string): CaptureBlock[] =>
  TAKEN_CAPTURES.map((c) => ({
    run_id: makeId("run", hostId, c.n),
    capture_id: makeId("capture", c.n),
    number: c.n,
    plan: c.plan,
    state: c.state,
    collectors: 12,
    look_back_ns: c.n === 474 ? (c.from - 180) * NS_PER_S : null,
    from_ns: c.from * NS_PER_S,
    to_ns: (c.from + c.seconds) * NS_PER_S,
    uncertainty_ns: c.n === 473 ? 4 * NS_PER_S : 2e6,
  }));

export const listHostEvents = (hostId: string): HostEvent[] =>
  TAKEN_CAPTURES.flatMap((c): HostEvent[] => {
    if (hashToUnit("ev", c.n) < 0.7 && c.n < 470) return [];
    const at = (s: number): number => (c.from + s) * NS_PER_S;
    const base = {
      uncertainty_ns: 2e6,
      end_ns: null,
      artifact_id: makeId("artifact", hostId, c.n, "kmsg"),
      run_id: makeId("run", hostId, c.n),
    };
    return [
      {
        ...base,
        id: makeId("e1", c.n),
        t_ns: at(c.seconds * 0.4),
        kind: "oom_kill",
        severity: "critical" as const,
        title: { key: "event.oom_kill", params: { comm: "feed-worker", pid: 48211 } },
        detail: "Out of memory: Killed process 48211 (feed-worker) total-vm:8123452kB, anon-rss:6023344kB",
        line: 214,
      },
      {
        ...base,
        id: makeId("e2", c.n),
        t_ns: at(c.seconds * 0.8),
        kind: "hung_task",
        severity: "warn" as const,
        title: { key: "event.hung_task", params: { process: "jbd2/nvme0n1", seconds: 120 } },
        detail: "INFO: task jbd2/nvme0n1:812 blocked for more than 120 seconds.",
        line: 220,
      },
    ];
  });

const done = (
  cid: string,
  seconds: number,
  seed: string,
): RunCollector & { started_ns: null; progress: null } => ({
  started_ns: null,
  signal: null,
  parser_version: 1,
  id: cid,
  state: "done",
  reason: null,
  bytes: Math.floor(
    (COLLECTORS.find((c) => c.id === cid)?.cost.bytes_per_s ?? 500) *
      seconds *
      (0.7 + hashToUnit(cid, seed) * 0.5),
  ),
  seconds,
  progress: null,
  exit_code: 0,
  method: "tool",
  tool_version: cid.startsWith("perf") ? "perf 6.1.119" : "",
  argv: COLLECTORS.find((c) => c.id === cid)?.methods[0]?.command.replace("{seconds}", String(seconds)) ?? "",
  cpu_ms: Math.floor(hashToUnit("cpu", cid, seed) * 60),
  stderr_tail: "",
  warnings: [],
});

/** Return an ended run. Some of its collectors failed, one for each possible reason. */
export function createEndedRun(
  runId: string,
  host: Host,
  planId: string,
  seconds: number,
  started_s: number,
  state: RunState,
): RunSummary {
  const plan = PLANS.find((p) => p.id === planId) ?? PLANS[0]!;
  const collectors = plan.collectors.map((c) => done(c.id, Math.min(c.seconds, seconds), runId));
  const set = (cid: string, change: Partial<RunCollector>): void => {
    const collector = collectors.find((c) => c.id === cid);
    if (collector) Object.assign(collector, change);
  };
  if (state === "partial") {
    set("iostat", {
      state: "skipped",
      reason: { key: "collector.skipped.tool_missing", params: { tool: "iostat" } },
      bytes: 0,
      seconds: null,
      argv: null,
    });
    set("perf_record", {
      state: "failed",
      exit_code: 255,
      reason: { key: "collector.failed.exit", params: { exit: 255 } },
      bytes: 0,
      seconds: 0.4,
      stderr_tail:
        "Error:\nAccess to performance monitoring and observability operations is limited.\nperf_event_paranoid setting is 4",
    });
    set("numastat", {
      state: "timed_out",
      reason: { key: "collector.timed_out", params: { seconds: seconds + 5 } },
      bytes: 812,
      seconds: seconds + 5,
    });
    set("kmsg", {
      state: "unreadable",
      reason: { key: "collector.unreadable", params: { lines: 3 } },
      bytes: 51,
    });
  }
  const failed = state === "failed";
  return {
    id: runId,
    host: { id: host.id, name: host.name },
    state,
    attempt: 1,
    started_at: iso(started_s),
    ended_at: iso(started_s + seconds + 4),
    seconds: seconds + 4.2,
    bytes: failed ? 0 : collectors.reduce((sum, c) => sum + (c.bytes ?? 0), 0),
    host_cpu_ms: failed ? null : 310 + Math.floor(hashToUnit("hc", runId) * 800),
    not_before: null,
    waiting: null,
    failure: failed
      ? { key: "ssh.unreachable", params: { address: host.address, reason: "timed out" } }
      : null,
    collectors: failed
      ? collectors.map((c) => ({ ...c, state: "canceled" as const, bytes: 0, seconds: null }))
      : collectors,
  };
}

export const CAPTURES: Capture[] = TAKEN_CAPTURES.slice()
  .reverse()
  .map((c) => {
    const fleet = c.n === 473 ? 20 : c.n % 7 === 0 ? 3 : 1;
    const runs = Array.from({ length: fleet }, (_, k) => {
      const host = HOSTS[k + 1]!;
      const state: RunState =
        fleet === 1 ? c.state : k === 3 ? "failed" : k % 6 === 5 ? "partial" : k === 0 ? c.state : "done";
      return createEndedRun(
        k === 0 ? makeId("run", host.id, c.n) : makeId("run", host.id, c.n),
        host,
        c.plan,
        c.seconds,
        c.from,
        state,
      );
    });
    return {
      id: makeId("capture", c.n),
      number: c.n,
      plan: c.plan,
      tier: "light",
      scope: { kind: "host", value: "" },
      options: {},
      seconds: c.seconds,
      state: fleet > 3 ? "partial" : c.state,
      reason: pickBySeed(
        [
          "p99 of feed is 2.3 s since 02:14",
          "nightly baseline",
          "disk alerts on nvme0n1",
          "after GOMAXPROCS=4",
          "before the deploy",
        ],
        "why",
        c.n,
      ),
      source: "manual",
      requested_by: { id: makeId("user", c.n % 3), name: pickBySeed(["lena", "wei", "admin"], "by", c.n) },
      created_at: iso(c.from - 3),
      ended_at: iso(c.from + c.seconds + 5),
      runs,
    } satisfies Capture;
  });
