import { getColorRamp } from "../../../core/charts/colorRamps";
import { findIndexAt, type Matrix } from "../../../core/charts/tracks";
import type { Range } from "../../../core/time/range";
import type { Gaps, Surface } from "./draw";

/** Draw a matrix in colors: one row of pixels per axis value, the first at the top. */
export function drawHeat(s: Surface, matrix: Matrix, gaps: Gaps, top: number, step: number): void {
  const n = matrix.values[0]?.length ?? 0;
  if (n === 0 || !(top > 0)) return;
  const ratio = globalThis.devicePixelRatio || 1;
  const w = Math.max(1, Math.round(s.width * ratio));
  const h = Math.max(1, Math.round(s.height * ratio));
  const column = columnIndex(matrix.t_ns, gaps, s.range, w, step);
  const image = s.ctx.createImageData(w, h);
  const pixels = new Uint32Array(image.data.buffer);
  const colors = getColorRamp(s.scheme);
  // A sample covers consecutive columns of pixels: compute its colors once and fill the columns.
  for (let px = 0; px < w; ) {
    const index = column[px] as number;
    let end = px + 1;
    while (end < w && column[end] === index) end += 1;
    const row = index < 0 ? undefined : matrix.values[index];
    if (row) {
      for (let py = 0; py < h; py += 1) {
        const from = Math.floor((py * n) / h);
        const to = Math.max(from + 1, Math.floor(((py + 1) * n) / h));
        let most = -1;
        for (let k = from; k < to; k += 1) {
          const value = row[k];
          if (value !== null && value !== undefined && value > most) most = value;
        }
        if (most >= 0) {
          const color = colors[Math.min(255, Math.round((most / top) * 255))] as number;
          pixels.fill(color, py * w + px, py * w + end);
        }
      }
    }
    px = end;
  }
  const holder = scratch(w, h);
  const on = holder.getContext("2d");
  if (!on) return;
  on.putImageData(image, 0, 0);
  s.ctx.drawImage(holder, 0, 0, w, h, 0, 0, s.width, s.height);
}

let shared: HTMLCanvasElement | undefined;
function scratch(w: number, h: number): HTMLCanvasElement {
  shared ??= document.createElement("canvas");
  shared.width = w;
  shared.height = h;
  return shared;
}

/**
 * Return for each pixel the index of the sample that covers it, or -1. A sample extends to the next sample or gap, the
 * last sample by one step, and each covers at least one pixel.
 */
function columnIndex(
  times: readonly number[],
  gaps: Gaps,
  range: Range,
  pixels: number,
  step: number,
): Int32Array {
  const out = new Int32Array(pixels).fill(-1);
  const perPixel = (range.to - range.from) / pixels;
  let g = 0;
  for (let i = Math.max(0, findIndexAt(times, range.from) - 1); i < times.length; i += 1) {
    const t = times[i] as number;
    if (t > range.to) break;
    while (g < gaps.length && (gaps[g] as readonly [number, number])[1] <= t) g += 1;
    const gap = gaps[g];
    const until = Math.min(times[i + 1] ?? t + step, gap && gap[0] >= t ? gap[0] : Number.POSITIVE_INFINITY);
    const x0 = Math.max(0, Math.floor((t - range.from) / perPixel));
    const x1 = Math.min(pixels, Math.max(x0 + 1, Math.ceil((until - range.from) / perPixel)));
    for (let x = x0; x < x1; x += 1) out[x] = i;
  }
  return out;
}
