/** Where the due instants of a schedule lie on a strip: what became of them on the left, what is to come on the right. */

export interface StripSpan {
  readonly from: number;
  readonly to: number;
}

/** Milliseconds from and to. What is to come takes a third at least; nothing older than what is known is shown. */
export function stripSpan(past: readonly number[], coming: readonly number[], now: number): StripSpan {
  const last = Math.max(now, ...coming);
  const first = Math.min(now, ...past);
  const ahead = last - now;
  const behind = ahead > 0 ? Math.min(now - first, 2 * ahead) : now - first;
  const margin = Math.max((ahead + behind) * 0.03, 60_000);
  return { from: now - behind - margin, to: last + margin };
}

/** Pixels from the left edge. */
export const stripX = (at: number, span: StripSpan, width: number): number =>
  ((at - span.from) / (span.to - span.from)) * width;

const DAY_MS = 86_400_000;

/** Midnights of UTC on a strip, at most `most` of them. */
export function midnights(span: StripSpan, most = 40): number[] {
  const step = Math.max(1, Math.ceil((span.to - span.from) / DAY_MS / most)) * DAY_MS;
  const out: number[] = [];
  for (let at = Math.ceil(span.from / step) * step; at <= span.to; at += step) out.push(at);
  return out;
}
