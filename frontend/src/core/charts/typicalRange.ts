import type { Message } from "../text/messages";
import type { Range } from "../time/range";
import type { Points } from "./tracks";

/** Minimum number of earlier days for a typical range. With fewer days the server returns null. */
export const MIN_DAYS = 3;

/** Typical range of a run: 10th percentile, median and 90th percentile by time; null if too few days have data. */
export interface TypicalSpan {
  readonly run_id: string;
  readonly artifact_id: string | null;
  readonly from_ns: number;
  readonly to_ns: number;
  readonly t_ns: readonly number[];
  readonly low: readonly (number | null)[];
  readonly median: readonly (number | null)[];
  readonly high: readonly (number | null)[];
  readonly days: readonly number[];
  readonly failure: Message | null;
}

/** Typical range at a time. */
export interface TypicalValues {
  readonly low: number;
  readonly median: number;
  readonly high: number;
  readonly days: number;
}

/** Availability of the typical range: smallest and largest number of days, too few days, or the failure. */
export type TypicalAvailability =
  | { readonly kind: "band"; readonly least: number; readonly most: number }
  | { readonly kind: "few"; readonly most: number }
  | { readonly kind: "failed"; readonly why: Message };

/** Return the spans as points, so that they can be included in a scale. */
export const toTypicalPoints = (spans: readonly TypicalSpan[]): Points => ({
  t_ns: spans.flatMap((typicalSpan) => typicalSpan.t_ns),
  min: spans.flatMap((typicalSpan) => typicalSpan.low),
  mean: spans.flatMap((typicalSpan) => typicalSpan.median),
  max: spans.flatMap((typicalSpan) => typicalSpan.high),
});

/**
 * Return the typical range at time `t`, interpolated linearly between two points of a span. Returns undefined outside
 * of the spans, and if a point is null.
 */
export function findTypicalValues(spans: readonly TypicalSpan[], t: number): TypicalValues | undefined {
  const span = spans.find(
    (typicalSpan) => typicalSpan.failure === null && t >= typicalSpan.from_ns && t <= typicalSpan.to_ns,
  );
  if (!span) return undefined;
  const after = span.t_ns.findIndex((time) => time >= t);
  if (after < 0) return undefined;
  const before = span.t_ns[after] === t ? after : after - 1;
  if (before < 0) return undefined;
  const [a, b] = [span.t_ns[before] as number, span.t_ns[after] as number];
  const share = b > a ? (t - a) / (b - a) : 0;
  const between = (values: readonly (number | null)[]): number | undefined => {
    const [x, y] = [values[before], values[after]];
    return x === null || x === undefined || y === null || y === undefined ? undefined : x + (y - x) * share;
  };
  const [low, median, high] = [between(span.low), between(span.median), between(span.high)];
  if (low === undefined || median === undefined || high === undefined) return undefined;
  return { low, median, high, days: Math.min(span.days[before] ?? 0, span.days[after] ?? 0) };
}

/** Return the availability of the typical range in `range`: a band if any, else too few days, else a failure. */
export function findTypicalAvailability(
  spans: readonly TypicalSpan[],
  range: Range,
): TypicalAvailability | undefined {
  const inside = spans.filter(
    (typicalSpan) => typicalSpan.from_ns <= range.to && typicalSpan.to_ns >= range.from,
  );
  const days = inside.flatMap((typicalSpan) =>
    typicalSpan.days.filter((_, i) => typicalSpan.median[i] !== null),
  );
  if (days.length > 0) return { kind: "band", least: Math.min(...days), most: Math.max(...days) };
  const few = inside.flatMap((typicalSpan) => typicalSpan.days);
  if (few.length > 0) return { kind: "few", most: Math.max(...few) };
  const why = inside.find((typicalSpan) => typicalSpan.failure !== null)?.failure;
  return why ? { kind: "failed", why } : undefined;
}

/** Return index pairs [first, last] of consecutive points with a band (`known`) or without a band. */
export function listBandSegments(span: TypicalSpan, known: boolean): [number, number][] {
  const out: [number, number][] = [];
  for (let i = 0; i < span.t_ns.length; i += 1) {
    if ((span.median[i] !== null) !== known) continue;
    const last = out[out.length - 1];
    if (last && last[1] === i - 1) last[1] = i;
    else out.push([i, i]);
  }
  return out;
}
