import { formatRange, padRange, type Range } from "../../../core/time/range";
import type { CaptureBlock } from "../api";
import type { Selection } from "./useDifferences";

const FINISHED = new Set(["done", "partial"]);

/** Return the runs that can be compared, newest first. */
export const listFinishedRuns = (runs: readonly CaptureBlock[]): CaptureBlock[] =>
  runs
    .filter((run) => FINISHED.has(run.state) && run.to_ns > run.from_ns)
    .sort((a, b) => b.from_ns - a.from_ns);

export const rangeOf = (run: CaptureBlock): Range => ({ from: run.from_ns, to: run.to_ns });

/** Return the run with this range, within 2 µs because a URL has microseconds. */
export const findRunByRange = (
  runs: readonly CaptureBlock[],
  range: Range | undefined,
): CaptureBlock | undefined =>
  range &&
  runs.find((run) => Math.abs(run.from_ns - range.from) < 2_000 && Math.abs(run.to_ns - range.to) < 2_000);

/** Among so many of the newest runs, the one with most collectors is the measure of a complete run. */
const RECENT = 20;

/**
 * Return the finished runs with at least half as many collectors as a complete run, newest first. Others, such as later
 * stages of a diagnosis, lack most series.
 */
function listCompleteRuns(runs: readonly CaptureBlock[]): CaptureBlock[] {
  const finished = listFinishedRuns(runs);
  const most = Math.max(0, ...finished.slice(0, RECENT).map((run) => run.collectors));
  return finished.filter((run) => run.collectors >= most / 2);
}

/** Return the default selection: the range of the newest complete run. */
export const chooseAfter = (runs: readonly CaptureBlock[]): Range | undefined => {
  const [newest] = listCompleteRuns(runs);
  return newest && rangeOf(newest);
};

/**
 * Return the default baseline of the selection `after`. On the same host: the newest run that ended before it began,
 * preferably with the same plan, because only that has the same series. On another host: the nearest run.
 */
export function chooseBefore(
  runs: readonly CaptureBlock[],
  after: Range,
  of: { sameHost: boolean; plan: string | undefined },
): Range | undefined {
  const finished = listCompleteRuns(runs);
  if (!of.sameHost) {
    const distance = (run: CaptureBlock) => Math.abs(run.from_ns - after.from);
    const nearest = [...finished].sort((a, b) => distance(a) - distance(b))[0];
    return nearest && rangeOf(nearest);
  }
  const earlier = finished.filter((run) => run.to_ns <= after.from);
  const best = earlier.find((run) => run.plan === of.plan) ?? earlier[0];
  return best && rangeOf(best);
}

/** Return the URL text of a range with both selections if they are near on the same host, else of `after`. */
export function timelineRange(before: Selection, after: Selection): string {
  const from = Math.min(before.range.from, after.range.from);
  const to = Math.max(before.range.to, after.range.to);
  const length = before.range.to - before.range.from + (after.range.to - after.range.from);
  const near = before.host === after.host && to - from < 20 * length;
  return formatRange(padRange(near ? { from, to } : after.range, 0.1));
}
