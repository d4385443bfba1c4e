import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { RunState } from "../../client/models";
import { formatRange, NS_PER_S, padded, pan, type Range, zoomAt } from "../../core/time/range";
import { isActive } from "../../lib/queries";
import { useTimeState } from "../../lib/urlState";
import type { CaptureBlock, TimelineOverview } from "./api";

/** Length of the look-back in the initial range; the user can pan to the rest. */
const INITIAL_LOOK_BACK_S = 60;

/** A capture that began so soon after the last one is in the first view together with it. */
const SAME_VIEW_NS = 600 * NS_PER_S;

/**
 * Return the initial range of a timeline whose URL names none: the last capture and the time just before it. A capture
 * in progress has no data yet, so it is added only where it follows soon.
 */
export function initialView(runs: readonly CaptureBlock[], limit: Range): Range {
  const latest = (blocks: readonly CaptureBlock[]) =>
    blocks.reduce<CaptureBlock | undefined>((a, b) => (a && a.to_ns >= b.to_ns ? a : b), undefined);
  const live = latest(runs.filter((run) => isActive(run.state as RunState)));
  const last = latest(runs.filter((run) => !isActive(run.state as RunState)));
  if (!last) return limit;
  const before = Math.max(last.look_back_ns ?? last.from_ns, last.from_ns - INITIAL_LOOK_BACK_S * NS_PER_S);
  const to = live && live.from_ns - last.to_ns < SAME_VIEW_NS ? Math.max(live.to_ns, last.to_ns) : last.to_ns;
  return padded({ from: before, to }, 0.08, NS_PER_S);
}

/** Return the range of all data of a host, with padding, or undefined if it has none. */
export function limitOf(overview: TimelineOverview): Range | undefined {
  const froms = overview.runs.map((run) => run.look_back_ns ?? run.from_ns);
  const tos = overview.runs.map((run) => run.to_ns);
  const first = Math.min(overview.first_ns ?? Number.POSITIVE_INFINITY, ...froms);
  const last = Math.max(overview.last_ns ?? Number.NEGATIVE_INFINITY, ...tos);
  return Number.isFinite(first) && Number.isFinite(last)
    ? padded({ from: first, to: Math.max(last, first + 1) }, 0.02, 5 * NS_PER_S)
    : undefined;
}

/**
 * Return the visible range (`view`), brushes, and functions that change them. The view changes immediately. The URL
 * follows 250 ms after the last change, so that it does not change with each step of a drag.
 */
export function useTimeView(overview: TimelineOverview | undefined, initial?: Range) {
  const [url, setUrl] = useTimeState();
  const [live, setLive] = useState<Range>();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const limit = useMemo(() => (overview ? limitOf(overview) : undefined), [overview]);
  const fallback = useMemo(
    () => initial ?? (overview && limit ? initialView(overview.runs, limit) : undefined),
    [initial, overview, limit],
  );
  const written = url.t ? formatRange(url.t) : "";
  // biome-ignore lint/correctness/useExhaustiveDependencies: a changed URL replaces the live range
  useEffect(() => {
    if (timer.current === undefined) setLive(undefined);
  }, [written]);
  useEffect(() => () => clearTimeout(timer.current), []);

  const view = live ?? url.t ?? fallback;
  const go = useCallback(
    (range: Range) => {
      setLive(range);
      clearTimeout(timer.current);
      timer.current = setTimeout(() => {
        timer.current = undefined;
        setUrl({ t: range });
      }, 250);
    },
    [setUrl],
  );
  const zoom = useCallback(
    (factor: number, at?: number) => {
      if (view && limit) go(zoomAt(view, at ?? (view.from + view.to) / 2, factor, limit));
    },
    [view, limit, go],
  );
  const move = useCallback(
    (share: number) => {
      if (view && limit) go(pan(view, share, limit));
    },
    [view, limit, go],
  );
  return { view, limit, brush: url.b, baseline: url.c, go, zoom, move, setUrl };
}
