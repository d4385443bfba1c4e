import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { RunState } from "../../client/models";
import { formatRange, NS_PER_S, padRange, panRange, type Range, zoomRange } from "../../core/time/range";
import { isActive } from "../../lib/queries";
import { useTimeState } from "../../lib/urlState";
import type { CaptureBlock, TimelineOverview } from "./api";

/** Length of the look-back in the initial range; the user can pan to the rest. */
const INITIAL_LOOK_BACK_S = 60;

/** A capture that began so soon after the last one is in the first view together with it. */
const SAME_VIEW_NS = 600 * NS_PER_S;

/** A capture that began so soon after the previous one belongs to it, as the stages of a diagnosis do. */
const SAME_SERIES_NS = 60 * NS_PER_S;

/** Return when the series of captures began whose last one is `last`, at most SAME_VIEW_NS before it. */
function findSeriesStart(runs: readonly CaptureBlock[], last: CaptureBlock): number {
  let from = last.from_ns;
  for (const run of [...runs].sort((a, b) => b.to_ns - a.to_ns)) {
    const isPart = run.to_ns <= last.to_ns && run.to_ns >= from - SAME_SERIES_NS;
    if (isPart && last.from_ns - run.from_ns < SAME_VIEW_NS) from = Math.min(from, run.from_ns);
  }
  return from;
}

/**
 * Return the initial range of a timeline whose URL names none: the last captures, such as all stages of a diagnosis,
 * of which the last ones may have few tracks, and the time just before. A capture in progress has no data yet, so it is
 * added only where it follows soon.
 */
export function chooseInitialView(runs: readonly CaptureBlock[], limit: Range): Range {
  const latest = (blocks: readonly CaptureBlock[]) =>
    blocks.reduce<CaptureBlock | undefined>((a, b) => (a && a.to_ns >= b.to_ns ? a : b), undefined);
  const live = latest(runs.filter((run) => isActive(run.state as RunState)));
  const last = latest(runs.filter((run) => !isActive(run.state as RunState)));
  if (!last) return limit;
  const own = Math.max(last.look_back_ns ?? last.from_ns, last.from_ns - INITIAL_LOOK_BACK_S * NS_PER_S);
  const before = Math.min(own, findSeriesStart(runs, last));
  const to = live && live.from_ns - last.to_ns < SAME_VIEW_NS ? Math.max(live.to_ns, last.to_ns) : last.to_ns;
  return padRange({ from: before, to }, 0.08, NS_PER_S);
}

/** Return the range of all data of a host, with padding, or undefined if it has none. */
export function findDataRange(overview: TimelineOverview): Range | undefined {
  const froms = overview.runs.map((run) => run.look_back_ns ?? run.from_ns);
  const tos = overview.runs.map((run) => run.to_ns);
  const first = Math.min(overview.first_ns ?? Number.POSITIVE_INFINITY, ...froms);
  const last = Math.max(overview.last_ns ?? Number.NEGATIVE_INFINITY, ...tos);
  return Number.isFinite(first) && Number.isFinite(last)
    ? padRange({ from: first, to: Math.max(last, first + 1) }, 0.02, 5 * NS_PER_S)
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
  const limit = useMemo(() => (overview ? findDataRange(overview) : undefined), [overview]);
  const fallback = useMemo(
    () => initial ?? (overview && limit ? chooseInitialView(overview.runs, limit) : undefined),
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
      if (view && limit) go(zoomRange(view, at ?? (view.from + view.to) / 2, factor, limit));
    },
    [view, limit, go],
  );
  const move = useCallback(
    (share: number) => {
      if (view && limit) go(panRange(view, share, limit));
    },
    [view, limit, go],
  );
  return { view, limit, brush: url.b, baseline: url.c, go, zoom, move, setUrl };
}
