import type { Points } from "./lanes";
import type { Range } from "./range";
import type { Sentence } from "./words";

/** Fewer earlier days than this say nothing about what is usual; the server draws no band of them. */
export const MIN_DAYS = 3;

/** What one run knows of the same hours of earlier days: 10 %, median and 90 %, null where too few days have data. */
export interface UsualSpan {
  readonly run_id: string;
  readonly artifact_id: string | null;
  readonly from_ns: number;
  readonly to_ns: number;
  readonly t_ns: readonly number[];
  readonly low: readonly (number | null)[];
  readonly median: readonly (number | null)[];
  readonly high: readonly (number | null)[];
  readonly days: readonly number[];
  readonly failure: Sentence | null;
}

/** What is usual at a moment. */
export interface UsualAt {
  readonly low: number;
  readonly median: number;
  readonly high: number;
  readonly days: number;
}

/** What can be said of a range: from how many to how many days, too few of them, or why nobody knows. */
export type UsualIn =
  | { readonly kind: "band"; readonly least: number; readonly most: number }
  | { readonly kind: "few"; readonly most: number }
  | { readonly kind: "failed"; readonly why: Sentence };

/** The spans as points, so that a scale has room for them. */
export const usualPoints = (spans: readonly UsualSpan[]): Points => ({
  t_ns: spans.flatMap((one) => one.t_ns),
  min: spans.flatMap((one) => one.low),
  mean: spans.flatMap((one) => one.median),
  max: spans.flatMap((one) => one.high),
});

/** Between two times of a span by a straight line; undefined outside, and where either of them is not known. */
export function usualAt(spans: readonly UsualSpan[], t: number): UsualAt | undefined {
  const span = spans.find((one) => one.failure === null && t >= one.from_ns && t <= one.to_ns);
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

/** A band that is there is said before days that are missing, and these before a reason. */
export function usualIn(spans: readonly UsualSpan[], range: Range): UsualIn | undefined {
  const seen = spans.filter((one) => one.from_ns <= range.to && one.to_ns >= range.from);
  const days = seen.flatMap((one) => one.days.filter((_, i) => one.median[i] !== null));
  if (days.length > 0) return { kind: "band", least: Math.min(...days), most: Math.max(...days) };
  const few = seen.flatMap((one) => one.days);
  if (few.length > 0) return { kind: "few", most: Math.max(...few) };
  const why = seen.find((one) => one.failure !== null)?.failure;
  return why ? { kind: "failed", why } : undefined;
}

/** Index pairs [first, last] of a span whose points have a band (`known`), or have none. */
export function stretches(span: UsualSpan, known: boolean): [number, number][] {
  const out: [number, number][] = [];
  for (let i = 0; i < span.t_ns.length; i += 1) {
    if ((span.median[i] !== null) !== known) continue;
    const last = out[out.length - 1];
    if (last && last[1] === i - 1) last[1] = i;
    else out.push([i, i]);
  }
  return out;
}
