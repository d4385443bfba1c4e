import type { CollectorReadiness, Host, Preflight } from "../src/client/types.ts";
import { COLLECTORS } from "./catalogue.ts";
import { id } from "./noise.ts";

/** What a check of a host found; one host in three lacks something. */
export function preflight(host: Host, state: Preflight["state"] = "done"): Preflight {
  const poor = host.name.charCodeAt(host.name.length - 1) % 3 === 0;
  const ready = state === "done";
  return {
    id: id("preflight", host.id),
    state,
    at: new Date().toISOString(),
    facts: ready ? host.facts : null,
    checks: ready
      ? [
          { id: "kernel", state: "ok", value: String(host.facts?.kernel ?? "6.1"), reason: null, mend: null },
          { id: "privileges", state: "ok", value: "sudo", reason: null, mend: null },
          {
            id: "perf_event_paranoid",
            state: poor ? "degraded" : "ok",
            value: poor ? 4 : 1,
            reason: poor ? { key: "check.perf_paranoid", params: { value: 4 } } : null,
            mend: poor ? "sysctl kernel.perf_event_paranoid=1   # or give the user CAP_PERFMON" : null,
          },
          { id: "tool.perf", state: "ok", value: "6.1.119", reason: null, mend: null },
          {
            id: "tool.iostat",
            state: poor ? "missing" : "ok",
            value: poor ? null : "12.6.1",
            reason: poor ? { key: "check.tool_missing", params: { tool: "iostat" } } : null,
            mend: poor ? "apt install sysstat" : null,
          },
          {
            id: "tool.numastat",
            state: poor ? "missing" : "ok",
            value: poor ? null : "2.0.16",
            reason: poor ? { key: "check.tool_missing", params: { tool: "numastat" } } : null,
            mend: poor ? "apt install numactl" : null,
          },
          { id: "disk_free", state: "ok", value: "18.2 GiB", reason: null, mend: null },
        ]
      : null,
    collectors: ready
      ? COLLECTORS.map((c): CollectorReadiness => {
          if (poor && c.id === "iostat")
            return {
              id: c.id,
              state: "degrades" as const,
              way: "diskstats",
              reason: { key: "check.falls_back", params: { tool: "iostat", file: "/proc/diskstats" } },
              mend: "apt install sysstat",
            };
          if (poor && c.id === "perf_sched")
            return {
              id: c.id,
              state: "does_not_work" as const,
              way: null,
              reason: { key: "check.perf_paranoid", params: { value: 4 } },
              mend: "sysctl kernel.perf_event_paranoid=-1",
            };
          return { id: c.id, state: "works" as const, way: "tool", reason: null, mend: null };
        })
      : null,
    clock: ready ? { offset_ms: -3.2, uncertainty_ms: 0.8 } : null,
    timings: ready ? { connect_ms: 12, login_ms: 180, fork_ms: 1.2, rtt_ms: 0.8 } : null,
    failure:
      state === "failed"
        ? { key: "ssh.unreachable", params: { address: host.address, reason: "timed out" } }
        : null,
  };
}
