import type { Host, Preflight } from "../../src/client/models.ts";
import type { CollectorReadiness } from "../../src/features/hosts/api.ts";
import { COLLECTORS } from "../captures/catalog.ts";
import { makeId } from "../server/pseudoRandom.ts";

const run = (command: string) => ({ key: "remedy.run", params: { command } });

/** Return the preflight check of a host. On every third host, something is missing. */
export function createPreflight(host: Host, state: Preflight["state"] = "done"): Preflight {
  const poor = host.name.charCodeAt(host.name.length - 1) % 3 === 0;
  const ready = state === "done";
  return {
    id: makeId("preflight", host.id),
    host_id: host.id,
    ended_at: null,
    state,
    at: new Date().toISOString(),
    facts: ready ? host.facts : null,
    checks: ready
      ? [
          {
            id: "kernel",
            state: "ok",
            value: String(host.facts?.kernel ?? "6.1"),
            reason: null,
            remedy: null,
          },
          { id: "privileges", state: "ok", value: "sudo", reason: null, remedy: null },
          {
            id: "perf_event_paranoid",
            state: poor ? "degraded" : "ok",
            value: poor ? 4 : 1,
            reason: poor ? { key: "check.perf_paranoid", params: { value: 4 } } : null,
            remedy: poor ? run("sysctl kernel.perf_event_paranoid=1   # or give the user CAP_PERFMON") : null,
          },
          { id: "tool.perf", state: "ok", value: "6.1.119", reason: null, remedy: null },
          {
            id: "tool.iostat",
            state: poor ? "missing" : "ok",
            value: poor ? null : "12.6.1",
            reason: poor ? { key: "check.tool_missing", params: { tool: "iostat" } } : null,
            remedy: poor ? run("apt install sysstat") : null,
          },
          {
            id: "tool.numastat",
            state: poor ? "missing" : "ok",
            value: poor ? null : "2.0.16",
            reason: poor ? { key: "check.tool_missing", params: { tool: "numastat" } } : null,
            remedy: poor ? run("apt install numactl") : null,
          },
          { id: "disk_free", state: "ok", value: "18.2 GiB", reason: null, remedy: null },
        ]
      : null,
    collectors: ready
      ? COLLECTORS.map((c): CollectorReadiness => {
          if (poor && c.id === "iostat")
            return {
              id: c.id,
              state: "degrades" as const,
              method: "diskstats",
              reason: { key: "check.falls_back", params: { tool: "iostat", file: "/proc/diskstats" } },
              remedy: run("apt install sysstat"),
            };
          if (poor && c.id === "perf_sched")
            return {
              id: c.id,
              state: "unavailable" as const,
              method: null,
              reason: { key: "check.perf_paranoid", params: { value: 4 } },
              remedy: run("sysctl kernel.perf_event_paranoid=-1"),
            };
          return { id: c.id, state: "works" as const, method: "tool", reason: null, remedy: null };
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
