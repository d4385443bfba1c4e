import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import type { Capture, RunState, RunSummary } from "../../client/models";
import { get } from "../api";
import { isActive, keys } from "../queries";
import { usePaused } from "../usePaused";

export type Link = "live" | "paused" | "ended";

/** A run as it arrived over the stream, put into its capture. */
export function withRun(capture: Capture, run: RunSummary): Capture {
  const known = capture.runs.some((item) => item.id === run.id);
  return {
    ...capture,
    runs: known ? capture.runs.map((item) => (item.id === run.id ? run : item)) : [...capture.runs, run],
  };
}

const POLL_MS = 2000;

/**
 * A capture that may be in progress. Updates come as server-sent events, which the browser resumes after an
 * interruption; while those are paused, the capture is fetched every two seconds.
 */
export function useCaptureStream(id: string) {
  const cache = useQueryClient();
  const [paused, pause] = usePaused();
  const received = useRef(new Map<string, number>());
  const query = useQuery({
    queryKey: keys.capture(id),
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
      cache.setQueryData<Capture>(keys.capture(id), (before) => (before ? edit(before) : before));
    source.addEventListener("run", (event) => {
      const run = parse<RunSummary>(event);
      if (!run) return;
      received.current.set(run.id, performance.now());
      change((capture) => withRun(capture, run));
    });
    source.addEventListener("capture", (event) => {
      const news = parse<{ state: RunState }>(event);
      if (!news) return;
      change((capture) => ({ ...capture, state: news.state }));
      if (!isActive(news.state)) {
        source.close();
        void cache.invalidateQueries({ queryKey: keys.captures });
        void cache.invalidateQueries({ queryKey: keys.hosts });
      }
    });
    source.addEventListener("error", () => {
      // The browser reconnects on an interruption; a refusal ends the stream permanently.
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
    return JSON.parse((event as MessageEvent<string>).data) as T;
  } catch {
    return undefined;
  }
}
