/** Pictures as the server drew them of real captures: the very files that its tests compare with. */
import type { RunVisuals, Visual } from "../src/client/types.ts";
import { ok, route } from "./routes.ts";
import callPath from "./visuals/call-path.json" with { type: "json" };
import connectTimes from "./visuals/connect-times.json" with { type: "json" };
import dropLadder from "./visuals/drop-ladder.json" with { type: "json" };
import listenerQueues from "./visuals/listener-queues.json" with { type: "json" };
import loadStages from "./visuals/load-stages.json" with { type: "json" };
import portRanges from "./visuals/port-ranges.json" with { type: "json" };
import tcpStates from "./visuals/tcp-states.json" with { type: "json" };
import threadTimeline from "./visuals/thread-timeline.json" with { type: "json" };
import waitChain from "./visuals/wait-chain.json" with { type: "json" };

const DRAWN = [
  callPath,
  connectTimes,
  dropLadder,
  listenerQueues,
  loadStages,
  portRanges,
  tcpStates,
  threadTimeline,
  waitChain,
].flat() as unknown as Visual[];

/** What a run without these collectors answers. */
const MISSING: Visual = {
  ...(DRAWN[0] as Visual),
  id: "missing",
  builder: "missing",
  title: { en: "Queues of a printer", zh: "打印队列" },
  state: "no_data",
  reason: { key: "missing.not_collected", params: { collector: "ss_listen" } },
  body: null,
  left_out: 0,
};

route("GET", "/runs/:id/visuals", ({ query }, runId) => {
  const ids = query.getAll("ids");
  const findings = query.getAll("findings");
  const all = ids.length === 0 && findings.length === 0;
  const fits = (one: Visual) =>
    all || ids.includes(one.builder) || one.rules.some((rule) => findings.includes(rule));
  return ok({ run_id: runId ?? "", visuals: [...DRAWN, MISSING].filter(fits) } satisfies RunVisuals);
});
