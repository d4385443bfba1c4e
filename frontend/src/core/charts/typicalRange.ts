import type { Message } from "../text/messages";
import type { Range } from "../time/range";
import type { Points } from "./tracks";

/** Fewer earlier days than this make no typical range; the server returns no band for them. */
export const MIN_DAYS = 3;

/** What one run knows of the same hours of earlier days: 10 %, median and 90 %, null where too few days have data. */
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

/** The typical range at a time. */
export interface TypicalAt {
  readonly low: number;
  readonly median: number;
  readonly high: number;
  readonly days: number;
}

/** The description of a range: its smallest and largest number of days, that there are too few, or why there is none. */
export type TypicalIn =
  | { readonly kind: "band"; readonly least: number; readonly most: number }
  | { readonly kind: "few"; readonly most: number }
  | { readonly kind: "failed"; readonly why: Message };

/** The spans as points, so that a scale has room for them. */
export const typicalPoints = (spans: readonly TypicalSpan[]): Points => ({
  t_ns: spans.flatMap((typicalSpan) => typicalSpan.t_ns),
  min: spans.flatMap((typicalSpan) => typicalSpan.low),
  mean: spans.flatMap((typicalSpan) => typicalSpan.median),
  max: spans.flatMap((typicalSpan) => typicalSpan.high),
});

/** Between two times of a span by a straight line; undefined outside, and where either of them is not known. */
export function typicalAt(spans: readonly TypicalSpan[], t: number): TypicalAt | undefined {
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

/** A band comes before missing days, and these before a reason. */
export function typicalIn(spans: readonly TypicalSpan[], range: Range): TypicalIn | undefined {
  const seen = spans.filter(
    (typicalSpan) => typicalSpan.from_ns <= range.to && typicalSpan.to_ns >= range.from,
  );
  const days = seen.flatMap((typicalSpan) =>
    typicalSpan.days.filter((_, i) => typicalSpan.median[i] !== null),
  );
  if (days.length > 0) return { kind: "band", least: Math.min(...days), most: Math.max(...days) };
  const few = seen.flatMap((typicalSpan) => typicalSpan.days);
  if (few.length > 0) return { kind: "few", most: Math.max(...few) };
  const why = seen.find((typicalSpan) => typicalSpan.failure !== null)?.failure;
  return why ? { kind: "failed", why } : undefined;
}

/** Index pairs [first, last] of a span whose points have a band (`known`), or have none. */
export function stretches(span: TypicalSpan, known: boolean): [number, number][] {
  const out: [number, number][] = [];
  for (let i = 0; i < span.t_ns.length; i += 1) {
    if ((span.median[i] !== null) !== known) continue;
    const last = out[out.length - 1];
    if (last && last[1] === i - 1) last[1] = i;
    else out.push([i, i]);
  }
  return out;
}
