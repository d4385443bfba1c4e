/** Call graph: a web tier that waits for a store on another host. */

import type { RunCalls } from "../../src/client/models.ts";
import type { Cited } from "../../src/features/incidents/api.ts";
import type { Call } from "../../src/widgets/call-graph/api.ts";
import { CAPTURES, HOSTS, NOW_MS } from "../dataset.ts";
import { makeId } from "../server/pseudoRandom.ts";
import { addRoute, respond } from "../server/routes.ts";

const SPAN_S = 10;
export const FROM_NS = (NOW_MS / 1000 - 2400) * 1e9;
const TO_NS = FROM_NS + SPAN_S * 1e9;

/** Run on the host of the store, whose server is process 812. */
export const STORE_HOST = HOSTS[3]!;
export const STORE_RUN = makeId("run", STORE_HOST.id, "store");
export const WEB_PID = 4711;
export const STORE_PID = 812;

export const createCitation = (runId: string, collector: string, ...lines: number[]): Cited => ({
  run: runId,
  collector,
  artifact: makeId("artifact", runId, collector, "stdout"),
  part: "samples",
  lines,
  profile: "",
  frame: "",
});

type Endpoint = RunCalls["outgoing"][number]["endpoint"];

const endpoint = (extra: Partial<Endpoint>): Endpoint => ({
  kind: "process",
  host: null,
  candidates: [],
  run_id: null,
  same_capture: false,
  pid: null,
  comm: "",
  source: null,
  reason: null,
  url: null,
  citations: [],
  ...extra,
});

const call = (runId: string, line: number, extra: Partial<Call>): Call => {
  const newCall = {
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
    samples: 9,
    endpoint: endpoint({}),
    endpoint_times: null,
    endpoint_times_reason: null,
    logged_times: null,
    citations: [createCitation(runId, "calls", line)],
    ...extra,
  };
  return {
    ...newCall,
    key: `${newCall.direction} ${newCall.protocol} ${newCall.remote}:${newCall.port} ${newCall.comm}`,
  };
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
  outgoing: [],
  incoming: [],
  omitted: 0,
  response_time: null,
  response_time_reason: { key: "calls.no_clients", params: {} },
  missing: [],
  ...extra,
});

function ofWeb(runId: string, pid: number | null, t: string): RunCalls {
  const host = CAPTURES.flatMap((capture) => capture.runs).find((run) => run.id === runId)?.host ?? null;
  const here = `/runs/${runId}/calls`;
  const store = call(runId, 12, {
    remote: "10.43.0.5",
    port: 6379,
    connections: 24,
    waiting: 7.4,
    waiting_oldest_ms: 1810,
    endpoint: endpoint({
      kind: "host",
      host: { id: STORE_HOST.id, name: STORE_HOST.name },
      run_id: STORE_RUN,
      same_capture: true,
      pid: STORE_PID,
      comm: "redis-server",
      source: "connection",
      url: `/runs/${STORE_RUN}/calls?pid=${STORE_PID}&t=${t}`,
      citations: [createCitation(STORE_RUN, "calls", 9)],
    }),
    endpoint_times: {
      caller: 7.4,
      callee: 7.1,
      between: 0.3,
      citations: [createCitation(runId, "tcp_waits", 3)],
    },
    logged_times: { caller_ms: 240, callee_ms: 151, citations: [createCitation(runId, "app_metrics", 4)] },
  });
  const proxy = call(runId, 14, {
    remote: "127.0.0.1",
    port: 9000,
    connections: 3,
    waiting: 0.6,
    endpoint: endpoint({ pid: 901, comm: "sidecar", source: "connection", url: `${here}?pid=901&t=${t}` }),
  });
  const outgoing = [
    store,
    proxy,
    call(runId, 15, {
      remote: "203.0.113.9",
      port: 443,
      syn_sent: 2,
      retransmitting: 2,
      connections: 2,
      rtt_mean_ms: null,
      endpoint: endpoint({
        kind: "not_added",
        reason: { key: "calls.unknown_address", params: { address: "203.0.113.9" } },
        url: "/hosts/new?address=203.0.113.9",
      }),
    }),
    call(runId, 16, {
      remote: "172.17.0.1",
      port: 8125,
      endpoint: endpoint({
        kind: "ambiguous",
        candidates: [HOSTS[4]!, HOSTS[5]!].map(({ id: hostId, name }) => ({ id: hostId, name })),
        reason: { key: "calls.ambiguous", params: { address: "172.17.0.1", count: 2 } },
      }),
    }),
  ];
  const incoming = [
    call(runId, 20, {
      direction: "in",
      remote: "10.40.0.4",
      port: 8080,
      connections: 60,
      waiting: 12.2,
      endpoint: endpoint({
        kind: "host",
        host: { id: HOSTS[2]!.id, name: HOSTS[2]!.name },
        reason: { key: "calls.no_run_on_host", params: {} },
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
    citations: [createCitation(runId, "tcp_waits", line)],
  });
  return answer({
    run_id: runId,
    host,
    pid,
    pids: pid === null ? [] : [pid],
    comm: pid === null ? "" : pid === WEB_PID ? "feed-web" : "sidecar",
    outgoing,
    incoming,
    response_time: {
      requests: 12.2,
      observed: 110,
      parallel: false,
      rate_per_s: null,
      segments: [
        segment(store.key, 0.61, 0.52, 0.7, 3),
        segment("", 0.34, 0.26, 0.43, 2),
        segment(proxy.key, 0.05, 0.02, 0.11, 4),
      ],
    },
    response_time_reason: null,
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
    incoming: [
      call(STORE_RUN, 9, {
        direction: "in",
        comm: "redis-server",
        pids: [STORE_PID],
        remote: "10.40.0.3",
        port: 6379,
        connections: 24,
        endpoint: endpoint({
          kind: "host",
          host: web?.host ?? null,
          run_id: web?.id ?? null,
          pid: WEB_PID,
          comm: "feed-web",
          source: "connection",
          url: `/runs/${web?.id}/calls?pid=${WEB_PID}&t=${t}`,
        }),
      }),
    ],
    response_time_reason: {
      key: "calls.too_few_observed",
      params: { observed: 4, samples: 9, required: 10 },
    },
  });
}

addRoute("GET", "/runs/:id/calls", ({ query }, runId = "") => {
  const pid = query.get("pid") ? Number(query.get("pid")) : null;
  return respond(runId === STORE_RUN ? ofStore(range(query), pid) : ofWeb(runId, pid, range(query)));
});
