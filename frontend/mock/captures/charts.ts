/** Pictures as the server drew them of real captures: the very files that its tests compare with. */
import type { RunVisuals, Visual } from "../src/client/types.ts";
import * as live from "./live.ts";
import { ok, route } from "./routes.ts";
import callPath from "./visuals/call-path.json" with { type: "json" };
import connectTimes from "./visuals/connect-times.json" with { type: "json" };
import diskTimes from "./visuals/disk-times.json" with { type: "json" };
import dropLadder from "./visuals/drop-ladder.json" with { type: "json" };
import groupMemory from "./visuals/group-memory.json" with { type: "json" };
import listenerQueues from "./visuals/listener-queues.json" with { type: "json" };
import load from "./visuals/load.json" with { type: "json" };
import loadStages from "./visuals/load-stages.json" with { type: "json" };
import numa from "./visuals/numa.json" with { type: "json" };
import pageFaults from "./visuals/page-faults.json" with { type: "json" };
import peers from "./visuals/peers.json" with { type: "json" };
import portRanges from "./visuals/port-ranges.json" with { type: "json" };
import routes from "./visuals/routes.json" with { type: "json" };
import schedLatency from "./visuals/sched-latency.json" with { type: "json" };
import softirqHeat from "./visuals/softirq-heat.json" with { type: "json" };
import tcpStates from "./visuals/tcp-states.json" with { type: "json" };
import threadCalls from "./visuals/thread-calls.json" with { type: "json" };
import threadTimeline from "./visuals/thread-timeline.json" with { type: "json" };
import useGrid from "./visuals/use-grid.json" with { type: "json" };
import waitChain from "./visuals/wait-chain.json" with { type: "json" };

const DRAWN = [
  callPath,
  connectTimes,
  diskTimes,
  dropLadder,
  groupMemory,
  listenerQueues,
  loadStages,
  load,
  numa,
  pageFaults,
  peers,
  portRanges,
  routes,
  schedLatency,
  softirqHeat,
  tcpStates,
  threadCalls,
  threadTimeline,
  useGrid,
  waitChain,
].flat() as unknown as Visual[];

/** The same picture of a run that did not collect what it is made of. */
const undrawn = (one: Visual): Visual => ({
  ...one,
  id: one.builder,
  subject: {},
  state: "no_data",
  reason: { key: "missing.not_collected", params: { collector: one.collectors.join(" | ") } },
  body: null,
  left_out: 0,
  notes: [],
});

/** A run that came home in part has every third picture; one that failed has none. */
function drawn(runId: string): Visual[] {
  const run = live
    .allCaptures()
    .flatMap((capture) => capture.runs)
    .find((one) => one.id === runId);
  if (run?.state === "partial") return once(DRAWN.map((one, i) => (i % 3 === 0 ? one : undrawn(one))));
  return run?.state === "failed" ? once(DRAWN.map(undrawn)) : DRAWN;
}

const once = (all: Visual[]): Visual[] => [...new Map(all.map((one) => [one.id, one])).values()];

route("GET", "/runs/:id/visuals", ({ query }, runId) => {
  const ids = query.getAll("ids");
  const findings = query.getAll("findings");
  const all = ids.length === 0 && findings.length === 0;
  const fits = (one: Visual) =>
    all || ids.includes(one.builder) || one.rules.some((rule) => findings.includes(rule));
  return ok({ run_id: runId ?? "", visuals: drawn(runId ?? "").filter(fits) } satisfies RunVisuals);
});
