/** Time axis of the due times of a schedule: past times at the left, upcoming times at the right. */

export interface StripSpan {
  readonly from: number;
  readonly to: number;
}

/** Return the range of the axis in ms. Upcoming times have at least a third of it, if there are any. */
export function computeStripSpan(past: readonly number[], coming: readonly number[], now: number): StripSpan {
  const last = Math.max(now, ...coming);
  const first = Math.min(now, ...past);
  const ahead = last - now;
  const behind = ahead > 0 ? Math.min(now - first, 2 * ahead) : now - first;
  const margin = Math.max((ahead + behind) * 0.03, 60_000);
  return { from: now - behind - margin, to: last + margin };
}

/** Return the position of a time in px from the left edge. */
export const stripX = (at: number, span: StripSpan, width: number): number =>
  ((at - span.from) / (span.to - span.from)) * width;

const DAY_MS = 86_400_000;

/** Return about `most` UTC midnights in the range; in long ranges, every n-th midnight. */
export function listMidnights(span: StripSpan, most = 40): number[] {
  const step = Math.max(1, Math.ceil((span.to - span.from) / DAY_MS / most)) * DAY_MS;
  const out: number[] = [];
  for (let at = Math.ceil(span.from / step) * step; at <= span.to; at += step) out.push(at);
  return out;
}
