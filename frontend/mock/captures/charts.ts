/** Pictures as the server drew them of real captures: the very files that its tests compare with. */
import type { RunVisuals, Visual } from "../../src/widgets/charts/api.ts";
import { ok, route } from "../server/routes.ts";
import callPath from "./charts/call-path.json" with { type: "json" };
import connectTimes from "./charts/connect-times.json" with { type: "json" };
import diskTimes from "./charts/disk-times.json" with { type: "json" };
import dropLadder from "./charts/drop-ladder.json" with { type: "json" };
import groupMemory from "./charts/group-memory.json" with { type: "json" };
import listenerQueues from "./charts/listener-queues.json" with { type: "json" };
import load from "./charts/load.json" with { type: "json" };
import loadStages from "./charts/load-stages.json" with { type: "json" };
import numa from "./charts/numa.json" with { type: "json" };
import pageFaults from "./charts/page-faults.json" with { type: "json" };
import peers from "./charts/peers.json" with { type: "json" };
import portRanges from "./charts/port-ranges.json" with { type: "json" };
import routes from "./charts/routes.json" with { type: "json" };
import schedLatency from "./charts/sched-latency.json" with { type: "json" };
import softirqHeat from "./charts/softirq-heat.json" with { type: "json" };
import tcpStates from "./charts/tcp-states.json" with { type: "json" };
import threadCalls from "./charts/thread-calls.json" with { type: "json" };
import threadTimeline from "./charts/thread-timeline.json" with { type: "json" };
import useGrid from "./charts/use-grid.json" with { type: "json" };
import waitChain from "./charts/wait-chain.json" with { type: "json" };
import * as live from "./live.ts";

const CHARTS = [
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
const undrawn = (chart: Visual): Visual => ({
  ...chart,
  id: chart.builder,
  subject: {},
  state: "no_data",
  reason: { key: "missing.not_collected", params: { collector: chart.collectors.join(" | ") } },
  body: null,
  left_out: 0,
  notes: [],
});

/** A run with partial results has every third chart; a failed run has none. */
function chartsOf(runId: string): Visual[] {
  const run = live
    .allCaptures()
    .flatMap((capture) => capture.runs)
    .find((run) => run.id === runId);
  if (run?.state === "partial") return once(CHARTS.map((chart, i) => (i % 3 === 0 ? chart : undrawn(chart))));
  return run?.state === "failed" ? once(CHARTS.map(undrawn)) : CHARTS;
}

const once = (all: Visual[]): Visual[] => [...new Map(all.map((chart) => [chart.id, chart])).values()];

route("GET", "/runs/:id/charts", ({ query }, runId) => {
  const ids = query.getAll("ids");
  const findings = query.getAll("findings");
  const all = ids.length === 0 && findings.length === 0;
  const fits = (chart: Visual) =>
    all || ids.includes(chart.builder) || chart.rules.some((rule) => findings.includes(rule));
  return ok({ run_id: runId ?? "", charts: chartsOf(runId ?? "").filter(fits) } satisfies RunVisuals);
});
