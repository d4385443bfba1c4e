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

export const span = (range: Range): number => range.to - range.from;

export const contains = (range: Range, t: number): boolean => t >= range.from && t <= range.to;

export const overlaps = (a: Range, b: Range): boolean => a.from <= b.to && b.from <= a.to;

/** Return the range between two times in any order, for example the ends of a drag. */
export const ordered = (a: number, b: number): Range => (a <= b ? { from: a, to: b } : { from: b, to: a });

/** Zoom a range within `limit`, with `at` at the same position on the screen. A `factor` below 1 zooms in. */
export function zoomAt(range: Range, at: number, factor: number, limit: Range): Range {
  const width = Math.min(Math.max(span(range) * factor, MIN_SPAN_NS), Math.max(span(limit), MIN_SPAN_NS));
  const share = span(range) > 0 ? (at - range.from) / span(range) : 0.5;
  const from = at - width * Math.min(Math.max(share, 0), 1);
  return clampInto({ from, to: from + width }, limit);
}

/** Move a range by a share of its width, at most to the ends of `limit`. */
export const pan = (range: Range, share: number, limit: Range): Range =>
  clampInto({ from: range.from + span(range) * share, to: range.to + span(range) * share }, limit);

/** Move `range` into `limit` and keep its width. A range wider than `limit` becomes `limit`. */
export function clampInto(range: Range, limit: Range): Range {
  const width = span(range);
  if (width >= span(limit)) return limit;
  if (range.from < limit.from) return { from: limit.from, to: limit.from + width };
  if (range.to > limit.to) return { from: limit.to - width, to: limit.to };
  return range;
}

/** Extend a range on both sides by a share of its width, at least by `least` ns. */
export function padded(range: Range, share: number, least = 0): Range {
  const by = Math.max(span(range) * share, least);
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
