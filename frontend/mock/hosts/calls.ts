/** Whom the processes of a run call, and where a host is: a web tier that waits for a store on another host. */
import type { FactChange, FactChanges, LoggedChange } from "../src/client/events.ts";
import type { Call, CallPlace, Cited, ContextItem, HostContext, RunCalls } from "../src/client/types.ts";
import { id } from "./noise.ts";
import { ok, problem, route } from "./routes.ts";
import { CAPTURES, HOSTS, NOW_MS } from "./world.ts";

const SPAN_S = 10;
const FROM_NS = (NOW_MS / 1000 - 2400) * 1e9;
const TO_NS = FROM_NS + SPAN_S * 1e9;

/** The run of the store, a host further on; its server is process 812. */
export const STORE_HOST = HOSTS[3]!;
export const STORE_RUN = id("run", STORE_HOST.id, "store");
export const WEB_PID = 4711;
export const STORE_PID = 812;

const cite = (runId: string, collector: string, ...lines: number[]): Cited => ({
  run: runId,
  collector,
  artifact: id("artifact", runId, collector, "stdout"),
  part: "samples",
  lines,
});

const place = (extra: Partial<CallPlace>): CallPlace => ({
  kind: "process",
  host: null,
  among: [],
  run_id: null,
  together: false,
  pid: null,
  comm: "",
  how: null,
  why: null,
  url: null,
  citations: [],
  ...extra,
});

const call = (runId: string, line: number, extra: Partial<Call>): Call => {
  const made = {
    direction: "out" as const,
    protocol: "tcp" as const,
    comm: "feed-web",
    pids: [WEB_PID],
    remote: "",
    port: 0,
    connections: 8,
    established: 8,
    syn_sent: 0,
    close_wait: 0,
    time_wait: null,
    rtt_mean_ms: 0.4,
    rtt_max_ms: 2.1,
    retransmitted: 0,
    retransmitting: 0,
    send_queue_bytes: 0,
    recv_queue_bytes: 0,
    waiting: null,
    waiting_oldest_ms: null,
    looks: 9,
    place: place({}),
    ends: null,
    ends_why: null,
    logged: null,
    citations: [cite(runId, "calls", line)],
    ...extra,
  };
  return { ...made, key: `${made.direction} ${made.protocol} ${made.remote}:${made.port} ${made.comm}` };
};

const range = (query: URLSearchParams): string => {
  const from = Number(query.get("from_ns") ?? FROM_NS);
  const to = Number(query.get("to_ns") ?? TO_NS);
  return `${Math.round(from / 1000)}~${Math.round(to / 1000)}`;
};

const answer = (extra: Partial<RunCalls>): RunCalls => ({
  run_id: "",
  host: null,
  pid: null,
  pids: [],
  comm: "",
  scope: {},
  t0_ns: FROM_NS,
  t1_ns: TO_NS,
  out: [],
  into: [],
  left_out: 0,
  split: null,
  split_why: { key: "calls.nobody_asks", params: {} },
  missing: [],
  ...extra,
});

function ofWeb(runId: string, pid: number | null, t: string): RunCalls {
  const host = CAPTURES.flatMap((one) => one.runs).find((one) => one.id === runId)?.host ?? null;
  const here = `/runs/${runId}/calls`;
  const store = call(runId, 12, {
    remote: "10.43.0.5",
    port: 6379,
    connections: 24,
    waiting: 7.4,
    waiting_oldest_ms: 1810,
    place: place({
      kind: "host",
      host: { id: STORE_HOST.id, name: STORE_HOST.name },
      run_id: STORE_RUN,
      together: true,
      pid: STORE_PID,
      comm: "redis-server",
      how: "connection",
      url: `/runs/${STORE_RUN}/calls?pid=${STORE_PID}&t=${t}`,
      citations: [cite(STORE_RUN, "calls", 9)],
    }),
    ends: { caller: 7.4, callee: 7.1, between: 0.3, citations: [cite(runId, "tcp_waits", 3)] },
    logged: { caller_ms: 240, callee_ms: 151, citations: [cite(runId, "app_metrics", 4)] },
  });
  const proxy = call(runId, 14, {
    remote: "127.0.0.1",
    port: 9000,
    connections: 3,
    waiting: 0.6,
    place: place({ pid: 901, comm: "sidecar", how: "connection", url: `${here}?pid=901&t=${t}` }),
  });
  const out = [
    store,
    proxy,
    call(runId, 15, {
      remote: "203.0.113.9",
      port: 443,
      syn_sent: 2,
      retransmitting: 2,
      connections: 2,
      rtt_mean_ms: null,
      place: place({
        kind: "not_enrolled",
        why: { key: "calls.not_enrolled", params: { address: "203.0.113.9" } },
        url: "/hosts/new?address=203.0.113.9",
      }),
    }),
    call(runId, 16, {
      remote: "172.17.0.1",
      port: 8125,
      place: place({
        kind: "ambiguous",
        among: [HOSTS[4]!, HOSTS[5]!].map(({ id: hostId, name }) => ({ id: hostId, name })),
        why: { key: "calls.ambiguous", params: { address: "172.17.0.1", count: 2 } },
      }),
    }),
  ];
  const into = [
    call(runId, 20, {
      direction: "in",
      remote: "10.40.0.4",
      port: 8080,
      connections: 60,
      waiting: 12.2,
      place: place({
        kind: "host",
        host: { id: HOSTS[2]!.id, name: HOSTS[2]!.name },
        why: { key: "calls.no_run_there", params: {} },
        url: `/hosts/${HOSTS[2]!.id}?t=${t}`,
      }),
    }),
  ];
  const segment = (key: string, share: number, low: number, high: number, line: number) => ({
    call: key,
    share,
    low,
    high,
    ms: null,
    citations: [cite(runId, "tcp_waits", line)],
  });
  return answer({
    run_id: runId,
    host,
    pid,
    pids: pid === null ? [] : [pid],
    comm: pid === null ? "" : pid === WEB_PID ? "feed-web" : "sidecar",
    out,
    into,
    split: {
      requests: 12.2,
      met: 110,
      parallel: false,
      rate_per_s: null,
      segments: [
        segment(store.key, 0.61, 0.52, 0.7, 3),
        segment("", 0.34, 0.26, 0.43, 2),
        segment(proxy.key, 0.05, 0.02, 0.11, 4),
      ],
    },
    split_why: null,
    missing: [{ collector: "ss", reason: { key: "missing.not_collected", params: { collector: "ss" } } }],
  });
}

function ofStore(t: string, pid: number | null): RunCalls {
  const web = CAPTURES[0]?.runs[0];
  return answer({
    run_id: STORE_RUN,
    host: { id: STORE_HOST.id, name: STORE_HOST.name },
    pid,
    pids: pid === null ? [] : [pid],
    comm: pid === null ? "" : "redis-server",
    into: [
      call(STORE_RUN, 9, {
        direction: "in",
        comm: "redis-server",
        pids: [STORE_PID],
        remote: "10.40.0.3",
        port: 6379,
        connections: 24,
        place: place({
          kind: "host",
          host: web?.host ?? null,
          run_id: web?.id ?? null,
          pid: WEB_PID,
          comm: "feed-web",
          how: "connection",
          url: `/runs/${web?.id}/calls?pid=${WEB_PID}&t=${t}`,
        }),
      }),
    ],
    split_why: { key: "calls.too_few_met", params: { met: 4, looks: 9, needed: 10 } },
  });
}

route("GET", "/runs/:id/calls", ({ query }, runId = "") => {
  const pid = query.get("pid") ? Number(query.get("pid")) : null;
  return ok(runId === STORE_RUN ? ofStore(range(query), pid) : ofWeb(runId, pid, range(query)));
});

const item = (itemId: string, value: string | number, extra: Partial<ContextItem> = {}): ContextItem => ({
  id: itemId,
  value,
  unit: "",
  name: "",
  detail: "",
  unusual: null,
  at_s: null,
  looked_at: false,
  citation: null,
  ...extra,
});

function whereabouts(hostId: string): HostContext | undefined {
  const host = HOSTS.find((one) => one.id === hostId);
  if (!host) return undefined;
  const runId = id("run", host.id, 471);
  const read = (collector: string, line: number) => ({ citation: cite(runId, collector, line) });
  const named = { id: host.id, name: host.name };
  if (host.id === HOSTS[3]?.id)
    return {
      host: named,
      run_id: null,
      t0_ns: null,
      scope: {},
      sections: (["machine", "kernel", "limits", "neighbours", "changes"] as const).map((one) => ({
        id: one,
        items: [],
        gaps: [
          {
            id: `${one}.proc_top`,
            collectors: ["proc_top"],
            reason: { key: "context.no_run", params: {} },
          },
        ],
      })),
      twins: {
        labels: {},
        twins: [],
        compared: [],
        differences: [],
        why: { key: "context.no_twins", params: {} },
      },
    };
  return {
    host: named,
    run_id: runId,
    t0_ns: FROM_NS,
    scope: {},
    sections: [
      {
        id: "machine",
        items: [
          item("model", "QEMU Standard PC", read("host_facts", 0)),
          item("cpu_model", "AMD EPYC 9654", read("hardware", 8)),
          item("cpus", 14, {
            unit: "count",
            unusual: { key: "context.cpus_offline", params: { possible: 16, online: 14 } },
          }),
          item("memory", 64 * 2 ** 30, { unit: "bytes", looked_at: true }),
          item("disk", 500e6, { unit: "kb", name: "nvme0n1", detail: "none, solid state" }),
          item("nic", 25000, { unit: "mbit_per_s", name: "eth0", detail: "up, ena, MTU 9001" }),
        ],
        gaps: [],
      },
      {
        id: "kernel",
        items: [
          item("release", String(host.facts?.kernel ?? "6.1.0-27-amd64")),
          item("clocksource", "hpet", { unusual: { key: "context.slow_clock", params: {} } }),
          item("mitigation", "Mitigation: Retpolines", { name: "spectre_v2", ...read("hardware", 31) }),
        ],
        gaps: [],
      },
      {
        id: "limits",
        items: [
          item("cpu_quota", 4, {
            unit: "cores",
            name: "/svc/feed",
            unusual: { key: "context.throttled", params: { pct: 41.3 } },
            ...read("cgroup_cpu", 5),
          }),
          item("setting", "10", {
            name: "vm.swappiness",
            unusual: { key: "context.not_default", params: { usual: "60" } },
          }),
          item("setting", "4096", { name: "net.core.somaxconn" }),
        ],
        gaps: [],
      },
      {
        id: "neighbours",
        items: [
          item("process_cpu", 812.4, {
            unit: "pct",
            name: "stress-ng",
            detail: "pid 999",
            ...read("proc_top", 77),
          }),
          item("process_memory", 8e6, { unit: "kb", name: "java", detail: "pid 1200" }),
        ],
        gaps: [],
      },
      {
        id: "changes",
        items: [
          item("told", "feed 4f2a", {
            name: "deploy",
            detail: "release train",
            at_s: NOW_MS / 1000 - 240,
            told_by: "admin",
            link: "https://ci.example/jobs/4711",
          }),
          item("fact", "10", {
            name: "sysctl.vm.swappiness",
            at_s: NOW_MS / 1000 - 18_000,
            was: "60",
            was_at_s: NOW_MS / 1000 - 32_400,
            was_citation: cite(runId, "host_facts", 52),
            ...read("host_facts", 52),
          }),
          item("package", "upgrade openssl 3.0.15-1", { at_s: NOW_MS / 1000 - 5400, ...read("changes", 2) }),
        ],
        gaps: [
          {
            id: "changes.changes",
            collectors: ["changes"],
            reason: { key: "missing.not_collected", params: { collector: "changes" } },
          },
        ],
      },
    ],
    twins: {
      labels: { role: String(host.labels.role ?? "") },
      twins: [
        {
          host: { id: HOSTS[4]!.id, name: HOSTS[4]!.name },
          run_id: id("run", HOSTS[4]!.id, 471),
          t0_ns: FROM_NS,
          healthy: true,
          causes: [],
        },
        {
          host: { id: HOSTS[5]!.id, name: HOSTS[5]!.name },
          run_id: null,
          t0_ns: null,
          healthy: null,
          causes: [],
        },
      ],
      compared: [HOSTS[4]!.name],
      differences: [
        {
          kind: "fact",
          name: "sysctl.vm.swappiness",
          here: "10",
          there: { [HOSTS[4]!.name]: "60" },
          surprise: 1,
          agree: 1,
        },
      ],
      why: null,
    },
  };
}

const HOUR_NS = 3_600e9;

/** A host against its own earlier facts. */
function changesOf(hostId: string): FactChanges | undefined {
  const host = HOSTS.find((one) => one.id === hostId);
  if (!host) return undefined;
  const now = NOW_MS * 1e6;
  const seen = (value: string | null, hours: number, line: number) => ({
    value,
    at_ns: now - hours * HOUR_NS,
    run_id: id("run", host.id, 471),
    artifact_id: id("art", host.id, line),
    line,
  });
  const none = host.id === HOSTS[3]?.id;
  const looked = (value: string, hours: number) => ({
    ...seen(value, hours, 1),
    artifact_id: null,
    line: null,
    run_id: null,
  });
  const changes: FactChange[] = [
    {
      source: "host_facts",
      name: "sysctl.vm.swappiness",
      before: seen("60", 9, 52),
      after: seen("10", 5, 52),
    },
    {
      source: "mounts",
      name: "mount./var/lib/data",
      before: seen(null, 30, 1),
      after: seen("/dev/sdb xfs rw,noatime,logbufs=8", 26, 4),
    },
    {
      source: "preflight",
      name: "mem_bytes",
      before: looked("68719476736", 400),
      after: looked("137438953472", 300),
    },
  ];
  const packages: LoggedChange = {
    id: id("ev", host.id, 1),
    kind: "change_package",
    title: { key: "event.change_package", params: { count: 2, what: "upgrade openssl 3.0.15-1" } },
    detail: "",
    t_ns: now - 1.5 * HOUR_NS,
    run_id: id("run", host.id, 471),
    artifact_id: id("art", host.id, 2),
    line: 2,
  };
  return {
    host: { id: host.id, name: host.name },
    since_ns: now - 720 * HOUR_NS,
    until_ns: now,
    first_ns: none ? null : now - 500 * HOUR_NS,
    last_ns: none ? null : now - HOUR_NS,
    facts: none ? 0 : 312,
    changes: none ? [] : changes,
    changes_total: none ? 0 : changes.length,
    logged: none ? [] : [packages],
    logged_total: none ? 0 : 1,
  };
}

route("GET", "/hosts/:id/changes", (_, hostId = "") => {
  const told = changesOf(hostId);
  return told ? ok(told) : problem(404, "host.not_found", "No such host.");
});

route("GET", "/hosts/:id/context", (_, hostId = "") => {
  const found = whereabouts(hostId);
  return found ? ok(found) : problem(404, "host.not_found", "No such host.");
});
