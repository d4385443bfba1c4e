import {
  findIndexAt,
  listContinuousSegments,
  type Points,
  type TrackData,
} from "../../../core/charts/tracks";
import { listBandSegments, type TypicalSpan } from "../../../core/charts/typicalRange";
import { type Range, toX } from "../../../core/time/range";

export type Gaps = readonly (readonly [number, number])[];

/** Canvas of `width` × `height` CSS pixels for the time range `range`. */
export interface Surface {
  readonly ctx: CanvasRenderingContext2D;
  readonly width: number;
  readonly height: number;
  readonly range: Range;
  readonly scheme: "dark" | "light";
}

/** Resize a canvas to device pixels, clear it, and return its 2D context, or undefined if there is none. */
export function prepareCanvas(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
): CanvasRenderingContext2D | undefined {
  const ratio = globalThis.devicePixelRatio || 1;
  const w = Math.max(1, Math.round(width * ratio));
  const h = Math.max(1, Math.round(height * ratio));
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
  }
  const ctx = canvas.getContext("2d");
  if (!ctx) return undefined;
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.clearRect(0, 0, width, height);
  return ctx;
}

const HATCH = { dark: "#2b343e", light: "#cfd6dd" } as const;
const RULE = { dark: "#232a32", light: "#e3e7eb" } as const;
const patterns = new Map<string, CanvasPattern | null>();

function hatch(ctx: CanvasRenderingContext2D, scheme: "dark" | "light"): CanvasPattern | string {
  if (!patterns.has(scheme)) {
    const tile = document.createElement("canvas");
    tile.width = 8;
    tile.height = 8;
    const on = tile.getContext("2d");
    if (on) {
      on.strokeStyle = HATCH[scheme];
      on.lineWidth = 1;
      on.beginPath();
      for (const offset of [-8, 0, 8]) {
        on.moveTo(offset, 8);
        on.lineTo(offset + 8, 0);
      }
      on.stroke();
    }
    patterns.set(scheme, on ? ctx.createPattern(tile, "repeat") : null);
  }
  return patterns.get(scheme) ?? HATCH[scheme];
}

/** Hatch times without data, so that they do not look like zero. */
export function drawGaps(s: Surface, gaps: Gaps): void {
  s.ctx.fillStyle = hatch(s.ctx, s.scheme);
  for (const [from, to] of gaps) {
    const x0 = Math.max(0, toX(from, s.range, s.width));
    const x1 = Math.min(s.width, toX(to, s.range, s.width));
    if (x1 - x0 >= 0.5) s.ctx.fillRect(x0, 0, x1 - x0, s.height);
  }
}

export function drawGrid(s: Surface, ticks: readonly number[]): void {
  s.ctx.strokeStyle = RULE[s.scheme];
  s.ctx.lineWidth = 1;
  s.ctx.beginPath();
  for (const t of ticks) {
    const x = Math.round(toX(t, s.range, s.width)) + 0.5;
    s.ctx.moveTo(x, 0);
    s.ctx.lineTo(x, s.height);
  }
  s.ctx.stroke();
}

/** Draw the clock uncertainty as bands around both ends of each capture, if it is at least 2 px. */
export function drawUncertainty(
  s: Surface,
  blocks: readonly { from_ns: number; to_ns: number; uncertainty_ns: number }[],
): void {
  const perPixel = (s.range.to - s.range.from) / s.width;
  s.ctx.fillStyle = s.scheme === "dark" ? "rgb(227 167 62 / 13%)" : "rgb(168 100 0 / 13%)";
  for (const block of blocks) {
    if (block.uncertainty_ns < 2 * perPixel) continue;
    for (const edge of [block.from_ns, block.to_ns]) {
      const x0 = Math.max(0, toX(edge - block.uncertainty_ns, s.range, s.width));
      const x1 = Math.min(s.width, toX(edge + block.uncertainty_ns, s.range, s.width));
      if (x1 > x0) s.ctx.fillRect(x0, 0, x1 - x0, s.height);
    }
  }
}

export interface Scale {
  readonly low: number;
  readonly high: number;
}

interface LineStyle {
  readonly ink: string;
  readonly kind: "line" | "area" | "step";
  /** Median interval of samples in ns. */
  readonly step: number;
  /** Times without data; lines are interrupted there. */
  readonly gaps: Gaps;
}

/** Draw a series: mean as a line, minimum to maximum as a band, interrupted at gaps. */
export function drawSeries(s: Surface, points: Points, scale: Scale, style: LineStyle): void {
  const { ctx } = s;
  const inner = s.height - 3;
  const y = (value: number) => s.height - 1.5 - ((value - scale.low) / (scale.high - scale.low || 1)) * inner;
  const first = Math.max(0, findIndexAt(points.t_ns, s.range.from) - 1);
  const last = Math.min(points.t_ns.length - 1, findIndexAt(points.t_ns, s.range.to) + 1);
  const perPixel = (s.range.to - s.range.from) / s.width;
  const base = y(Math.max(0, scale.low));
  for (const indices of listContinuousSegments(points, style.gaps, first, last)) {
    const x = (i: number) => toX(points.t_ns[i] as number, s.range, s.width);
    const head = indices[0] as number;
    const tail = indices[indices.length - 1] as number;
    const end = Math.max(x(tail), x(head) + Math.max(1.2, Math.min(style.step / perPixel, 3)));
    if (style.kind === "area" || style.kind === "step") {
      ctx.globalAlpha = 0.16;
      ctx.fillStyle = style.ink;
      ctx.beginPath();
      ctx.moveTo(x(head), base);
      trace(
        indices,
        x,
        (i) => y(points.mean[i] as number),
        style.kind === "step",
        (px, py) => ctx.lineTo(px, py),
        end,
      );
      ctx.lineTo(end, base);
      ctx.closePath();
      ctx.fill();
    }
    ctx.globalAlpha = 0.3;
    ctx.fillStyle = style.ink;
    for (const i of indices) {
      const top = y(points.max[i] ?? (points.mean[i] as number));
      const bottom = y(points.min[i] ?? (points.mean[i] as number));
      if (bottom - top > 1) ctx.fillRect(x(i) - 0.5, top, 1.5, bottom - top);
    }
    ctx.globalAlpha = 1;
    ctx.strokeStyle = style.ink;
    ctx.lineWidth = 1.25;
    ctx.lineJoin = "round";
    ctx.beginPath();
    let begun = false;
    trace(
      indices,
      x,
      (i) => y(points.mean[i] as number),
      style.kind === "step",
      (px, py) => {
        if (begun) ctx.lineTo(px, py);
        else ctx.moveTo(px, py);
        begun = true;
      },
      end,
    );
    ctx.stroke();
  }
}

/** Height of the hatched strip that marks insufficient history. */
const STRIP = 10;

/** Draw the typical range: 10-90 % as a band, the median as a dashed line, insufficient history hatched. */
export function drawTypicalRange(s: Surface, spans: readonly TypicalSpan[], scale: Scale, ink: string): void {
  const { ctx } = s;
  const y = (value: number) =>
    s.height - 1.5 - ((value - scale.low) / (scale.high - scale.low || 1)) * (s.height - 3);
  for (const span of spans) {
    if (span.to_ns < s.range.from || span.from_ns > s.range.to) continue;
    const x = (i: number) => toX(span.t_ns[i] as number, s.range, s.width);
    for (const [first, last] of listBandSegments(span, true)) {
      const line = (values: readonly (number | null)[], from: number, to: number, begin: boolean) => {
        const by = from <= to ? 1 : -1;
        for (let i = from; by * i <= by * to; i += by)
          if (begin && i === from) ctx.moveTo(x(i), y(values[i] as number));
          else ctx.lineTo(x(i), y(values[i] as number));
      };
      ctx.fillStyle = ink;
      ctx.globalAlpha = s.scheme === "dark" ? 0.2 : 0.15;
      ctx.beginPath();
      line(span.high, first, last, true);
      line(span.low, last, first, false);
      ctx.closePath();
      ctx.fill();
      ctx.globalAlpha = 0.65;
      ctx.strokeStyle = ink;
      ctx.lineWidth = 1;
      ctx.setLineDash([3, 3]);
      ctx.beginPath();
      line(span.median, first, last, true);
      ctx.stroke();
      ctx.setLineDash([]);
      ctx.globalAlpha = 1;
    }
    ctx.fillStyle = hatch(ctx, s.scheme);
    if (span.failure !== null) strip(s, span.from_ns, span.to_ns);
    for (const [first, last] of listBandSegments(span, false))
      strip(
        s,
        span.t_ns[Math.max(0, first - 1)] as number,
        span.t_ns[Math.min(span.t_ns.length - 1, last + 1)] as number,
      );
  }
}

function strip(s: Surface, from: number, to: number): void {
  const x0 = Math.max(0, toX(from, s.range, s.width));
  const x1 = Math.min(s.width, toX(to, s.range, s.width));
  if (x1 <= x0) return;
  s.ctx.fillRect(x0, 0, x1 - x0, STRIP);
  s.ctx.strokeStyle = HATCH[s.scheme];
  s.ctx.lineWidth = 1;
  s.ctx.strokeRect(x0 + 0.5, 0.5, x1 - x0 - 1, STRIP - 1);
}

function trace(
  indices: readonly number[],
  x: (i: number) => number,
  y: (i: number) => number,
  stepped: boolean,
  to: (x: number, y: number) => void,
  end: number,
): void {
  let previous: number | undefined;
  for (const i of indices) {
    const px = x(i);
    const py = y(i);
    if (stepped && previous !== undefined) to(px, previous);
    to(px, py);
    previous = py;
  }
  if (previous !== undefined) to(end, previous);
}

/** Return the times in which none of the tracks has data. */
export function commonGaps(tracks: readonly TrackData[]): Gaps {
  let out = tracks[0]?.gaps ?? [];
  for (const track of tracks.slice(1)) {
    const next: [number, number][] = [];
    let j = 0;
    for (const [a, b] of out) {
      while (j < track.gaps.length && (track.gaps[j] as readonly [number, number])[1] < a) j += 1;
      for (let k = j; k < track.gaps.length; k += 1) {
        const [c, d] = track.gaps[k] as readonly [number, number];
        if (c >= b) break;
        const from = Math.max(a, c);
        const to = Math.min(b, d);
        if (to > from) next.push([from, to]);
      }
    }
    out = next;
  }
  return out;
}
