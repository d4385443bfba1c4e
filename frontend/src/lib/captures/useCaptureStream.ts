import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import type { Capture, RunState, RunSummary } from "../../client/models";
import { parseVisibleJson } from "../../core/text/visibleJson";
import { get } from "../api";
import { isActive, queryKeys } from "../queries";
import { useStreamPause } from "../useStreamPause";

export type Link = "live" | "paused" | "ended";

/** Return the capture with `run` replaced or appended. */
export function replaceRun(capture: Capture, run: RunSummary): Capture {
  const exists = capture.runs.some((item) => item.id === run.id);
  return {
    ...capture,
    runs: exists ? capture.runs.map((item) => (item.id === run.id ? run : item)) : [...capture.runs, run],
  };
}

const POLL_MS = 2000;

/**
 * Load a capture and keep it current while it is active. Updates arrive as server-sent events; while the stream is
 * paused, the capture is polled every 2 s. Returns the query, the state of the stream (`link`), and `since(runId)`:
 * seconds since the last update of a run.
 */
export function useCaptureStream(id: string) {
  const cache = useQueryClient();
  const [paused, pause] = useStreamPause();
  const received = useRef(new Map<string, number>());
  const query = useQuery({
    queryKey: queryKeys.capture(id),
    queryFn: async () => {
      const capture = await get(`/captures/${id}`);
      for (const run of capture.runs) received.current.set(run.id, performance.now());
      return capture;
    },
    refetchInterval: ({ state }) => (paused && state.data && isActive(state.data.state) ? POLL_MS : false),
  });
  const active = query.data !== undefined && isActive(query.data.state);
  useEffect(() => {
    if (!active || paused) return;
    const source = new EventSource(`/api/v1/captures/${id}/progress`);
    const change = (edit: (capture: Capture) => Capture) =>
      cache.setQueryData<Capture>(queryKeys.capture(id), (before) => (before ? edit(before) : before));
    source.addEventListener("run", (event) => {
      const run = parse<RunSummary>(event);
      if (!run) return;
      received.current.set(run.id, performance.now());
      change((capture) => replaceRun(capture, run));
    });
    source.addEventListener("capture", (event) => {
      const update = parse<{ state: RunState }>(event);
      if (!update) return;
      change((capture) => ({ ...capture, state: update.state }));
      if (!isActive(update.state)) {
        source.close();
        void cache.invalidateQueries({ queryKey: queryKeys.captures });
        void cache.invalidateQueries({ queryKey: queryKeys.hosts });
      }
    });
    source.addEventListener("error", () => {
      // The browser reconnects after an interruption. An HTTP error closes the stream permanently.
      if (source.readyState === EventSource.CLOSED) pause();
    });
    return () => source.close();
  }, [id, active, paused, pause, cache]);
  const link: Link = !active ? "ended" : paused ? "paused" : "live";
  const since = (runId: string, now = performance.now()) =>
    (now - (received.current.get(runId) ?? now)) / 1000;
  return { query, link, since };
}

function parse<T>(event: Event): T | undefined {
  try {
    return parseVisibleJson((event as MessageEvent<string>).data) as T;
  } catch {
    return undefined;
  }
}
