/** Charts of real captures: the expected results of the tests of the server. */
import type { RunVisuals, Visual } from "../../src/widgets/charts/api.ts";
import { addRoute, respond } from "../server/routes.ts";
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

/** Return a chart without data, as for a run that did not collect it. */
const withoutBody = (chart: Visual): Visual => ({
  ...chart,
  id: chart.builder,
  subject: {},
  state: "no_data",
  reason: { key: "missing.not_collected", params: { collector: chart.collectors.join(" | ") } },
  body: null,
  left_out: 0,
  notes: [],
});

/** Return the charts of a run: all if it is done, every third for partial results, none if it failed. */
function chartsOf(runId: string): Visual[] {
  const run = live
    .listCaptures()
    .flatMap((capture) => capture.runs)
    .find((run) => run.id === runId);
  if (run?.state === "partial")
    return uniqueById(CHARTS.map((chart, i) => (i % 3 === 0 ? chart : withoutBody(chart))));
  return run?.state === "failed" ? uniqueById(CHARTS.map(withoutBody)) : CHARTS;
}

const uniqueById = (all: Visual[]): Visual[] => [...new Map(all.map((chart) => [chart.id, chart])).values()];

addRoute("GET", "/runs/:id/charts", ({ query }, runId) => {
  const ids = query.getAll("ids");
  const findings = query.getAll("findings");
  const all = ids.length === 0 && findings.length === 0;
  const fits = (chart: Visual) =>
    all || ids.includes(chart.builder) || chart.rules.some((rule) => findings.includes(rule));
  return respond({ run_id: runId ?? "", charts: chartsOf(runId ?? "").filter(fits) } satisfies RunVisuals);
});
