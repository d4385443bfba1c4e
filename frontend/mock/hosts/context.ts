/** Host context: hardware, kernel, limits, neighbors and changes. */

import type { HostContext } from "../../src/client/models.ts";
import type { ContextItem } from "../../src/widgets/host-context/api.ts";
import { HOSTS, NOW_MS } from "../dataset.ts";
import { makeId } from "../server/pseudoRandom.ts";
import { addRoute, respond, respondProblem } from "../server/routes.ts";
import { createCitation, FROM_NS } from "./calls.ts";

const item = (itemId: string, value: string | number, extra: Partial<ContextItem> = {}): ContextItem => ({
  id: itemId,
  value,
  unit: "",
  name: "",
  detail: "",
  atypical: null,
  at_s: null,
  checked: false,
  link: "",
  reported_by: "",
  citation: null,
  ...extra,
});

function hostContext(hostId: string): HostContext | undefined {
  const host = HOSTS.find((host) => host.id === hostId);
  if (!host) return undefined;
  const runId = makeId("run", host.id, 471);
  const read = (collector: string, line: number) => ({ citation: createCitation(runId, collector, line) });
  const named = { id: host.id, name: host.name };
  if (host.id === HOSTS[3]?.id)
    return {
      host: named,
      run_id: null,
      t0_ns: null,
      scope: {},
      sections: (["machine", "kernel", "limits", "neighbors", "changes"] as const).map((item) => ({
        id: item,
        items: [],
        gaps: [
          {
            id: `${item}.proc_top`,
            collectors: ["proc_top"],
            reason: { key: "context.no_run", params: {} },
          },
        ],
      })),
      peer_comparison: {
        labels: {},
        peers: [],
        compared: [],
        differences: [],
        reason: { key: "context.no_peers", params: {} },
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
            atypical: { key: "context.cpus_offline", params: { possible: 16, online: 14 } },
          }),
          item("memory", 64 * 2 ** 30, { unit: "bytes", checked: true }),
          item("disk", 500e6, { unit: "kb", name: "nvme0n1", detail: "none, solid state" }),
          item("nic", 25000, { unit: "mbit_per_s", name: "eth0", detail: "up, ena, MTU 9001" }),
        ],
        gaps: [],
      },
      {
        id: "kernel",
        items: [
          item("release", String(host.facts?.kernel ?? "6.1.0-27-amd64")),
          item("clocksource", "hpet", { atypical: { key: "context.slow_clock", params: {} } }),
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
            atypical: { key: "context.throttled", params: { pct: 41.3 } },
            ...read("cgroup_cpu", 5),
          }),
          item("setting", "10", {
            name: "vm.swappiness",
            atypical: { key: "context.not_default", params: { default: "60" } },
          }),
          item("setting", "4096", { name: "net.core.somaxconn" }),
        ],
        gaps: [],
      },
      {
        id: "neighbors",
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
          item("reported_event", "feed 4f2a", {
            name: "deploy",
            detail: "release train",
            at_s: NOW_MS / 1000 - 240,
            reported_by: "admin",
            link: "https://ci.example/jobs/4711",
          }),
          item("fact", "10", {
            name: "sysctl.vm.swappiness",
            at_s: NOW_MS / 1000 - 18_000,
            previous: "60",
            previous_at_s: NOW_MS / 1000 - 32_400,
            previous_citation: createCitation(runId, "host_facts", 52),
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
    peer_comparison: {
      labels: { role: String(host.labels.role ?? "") },
      peers: [
        {
          host: { id: HOSTS[4]!.id, name: HOSTS[4]!.name },
          run_id: makeId("run", HOSTS[4]!.id, 471),
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
          local: "10",
          peers: { [HOSTS[4]!.name]: "60" },
          surprise_score: 1,
          agreement: 1,
        },
      ],
      reason: null,
    },
  };
}

addRoute("GET", "/hosts/:id/context", (_, hostId = "") => {
  const context = hostContext(hostId);
  return context ? respond(context) : respondProblem(404, "host.not_found", "No such host.");
});
