/**
 * Time range. Times are UTC nanoseconds in a double, exact to 256 ns in this century, which is finer than the
 * resolution of all charts. Positions inside of a range are computed relative to its start.
 */
export interface Range {
  readonly from: number;
  readonly to: number;
}

export const NS_PER_US = 1e3;
export const NS_PER_MS = 1e6;
export const NS_PER_S = 1e9;
export const MIN_SPAN_NS = 10 * NS_PER_US;

export const spanOf = (range: Range): number => range.to - range.from;

export const containsTime = (range: Range, t: number): boolean => t >= range.from && t <= range.to;

export const rangesOverlap = (a: Range, b: Range): boolean => a.from <= b.to && b.from <= a.to;

/** Return the range between two times in any order, for example the ends of a drag. */
export const orderRange = (a: number, b: number): Range => (a <= b ? { from: a, to: b } : { from: b, to: a });

/** Zoom a range within `limit`, with `at` at the same position on the screen. A `factor` below 1 zooms in. */
export function zoomRange(range: Range, at: number, factor: number, limit: Range): Range {
  const width = Math.min(Math.max(spanOf(range) * factor, MIN_SPAN_NS), Math.max(spanOf(limit), MIN_SPAN_NS));
  const share = spanOf(range) > 0 ? (at - range.from) / spanOf(range) : 0.5;
  const from = at - width * Math.min(Math.max(share, 0), 1);
  return clampRange({ from, to: from + width }, limit);
}

/** Move a range by a share of its width, at most to the ends of `limit`. */
export const panRange = (range: Range, share: number, limit: Range): Range =>
  clampRange({ from: range.from + spanOf(range) * share, to: range.to + spanOf(range) * share }, limit);

/** Move `range` into `limit` and keep its width. A range wider than `limit` becomes `limit`. */
export function clampRange(range: Range, limit: Range): Range {
  const width = spanOf(range);
  if (width >= spanOf(limit)) return limit;
  if (range.from < limit.from) return { from: limit.from, to: limit.from + width };
  if (range.to > limit.to) return { from: limit.to - width, to: limit.to };
  return range;
}

/** Extend a range on both sides by a share of its width, at least by `least` ns. */
export function padRange(range: Range, share: number, least = 0): Range {
  const by = Math.max(spanOf(range) * share, least);
  return { from: range.from - by, to: range.to + by };
}

export const toX = (t: number, range: Range, width: number): number =>
  ((t - range.from) / (range.to - range.from)) * width;

export const toTime = (x: number, range: Range, width: number): number =>
  range.from + (x / width) * (range.to - range.from);

/** Format a range for the URL: `from~to` in microseconds. */
export const formatRange = (range: Range): string =>
  `${Math.round(range.from / NS_PER_US)}~${Math.round(range.to / NS_PER_US)}`;

/** Parse `from~to` in microseconds, or return undefined for other text and empty ranges. */
export function parseRange(text: string | undefined): Range | undefined {
  const match = /^(-?\d{1,16})~(-?\d{1,16})$/.exec(text ?? "");
  if (!match) return undefined;
  const from = Number(match[1]) * NS_PER_US;
  const to = Number(match[2]) * NS_PER_US;
  return to > from ? { from, to } : undefined;
}
