import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import { NS_PER_S } from "../../core/time/range";
import { isActive, useCaptures } from "../../lib/queries";
import type { CaptureBlock } from "./api";

const TICK_MS = 1000;
/** Number of captures to fetch. Few captures of a host are in progress at the same time; older captures have ended. */
const NEWEST = 20;

/**
 * Return the active runs of a host as blocks that end now. When a run ends, the timeline queries of the host are
 * invalidated, so that its data appears without a reload.
 */
export function useLiveRuns(hostId: string): readonly CaptureBlock[] {
  const cache = useQueryClient();
  const captures = useCaptures({ host: hostId }, NEWEST).data?.items;
  const runs = useMemo(
    () =>
      (captures ?? []).flatMap((capture) =>
        capture.runs
          .filter((run) => run.host?.id === hostId && isActive(run.state) && run.started_at)
          .map((run) => ({ capture, run, from_ns: Date.parse(run.started_at ?? "") * 1e6 })),
      ),
    [captures, hostId],
  );
  const [now, setNow] = useState(Date.now);
  const count = runs.length;
  useEffect(() => {
    if (count === 0) return;
    const timer = setInterval(() => setNow(Date.now()), TICK_MS);
    return () => clearInterval(timer);
  }, [count]);
  const before = useRef(0);
  useEffect(() => {
    if (count < before.current) void cache.invalidateQueries({ queryKey: ["hosts", hostId, "timeline"] });
    before.current = count;
  }, [count, cache, hostId]);
  return useMemo(
    () =>
      runs.map(({ capture, run, from_ns }) => ({
        run_id: run.id,
        capture_id: capture.id,
        number: capture.number,
        plan: capture.plan,
        state: run.state,
        collectors: run.collectors.length,
        look_back_ns: null,
        from_ns,
        to_ns: Math.max(now * 1e6, from_ns + NS_PER_S),
        uncertainty_ns: 0,
      })),
    [runs, now],
  );
}
