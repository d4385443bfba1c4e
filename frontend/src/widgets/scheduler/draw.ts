/** Canvas rendering of scheduler tracks: time slices, waits for a CPU, and arrows of wake-ups. */
import type { SchedulerRow, SchedulerTracksData, WakeupArrow } from "../../core/charts/schedulerTracks";
import { hashToUnit } from "../../core/profiles/flame";
import { type Range, toX } from "../../core/time/range";

const FEW_ROWS = 8;
/** Return the height of a row in px. Few rows are higher, so that arrows between them are readable. */
export const rowHeight = (rows: number): number => (rows <= FEW_ROWS ? 28 : 16);
const WAIT_PX = 5;
const HEAD_PX = 4;
/** Above this number, arrows are translucent. */
const CLEAR_ARROWS = 40;
const GOLDEN_ANGLE = 137.5;

export interface Surface {
  readonly context: CanvasRenderingContext2D;
  readonly range: Range;
  readonly width: number;
  readonly rowPx: number;
  readonly dark: boolean;
}

export function paintRows(surface: Surface, data: SchedulerTracksData, rows: readonly SchedulerRow[]): void {
  const { context, rowPx, dark } = surface;
  rows.forEach((row, at) => {
    const top = at * rowPx;
    context.fillStyle = dark ? "#c58a2b" : "#b87a17";
    for (const [offset = 0, length = 0] of row.waits) {
      const box = boxOf(surface, data.t0_ns + offset, length);
      if (box) context.fillRect(box.left, top + (rowPx - WAIT_PX) / 2, box.width, WAIT_PX);
    }
    for (const [offset = 0, length = 0, index = 0] of row.segments) {
      const box = boxOf(surface, data.t0_ns + offset, length);
      if (!box) continue;
      context.fillStyle =
        row.cpu === undefined ? cpuColor(index, dark) : taskColor(data.tasks[index]?.task ?? "", dark);
      context.fillRect(box.left, top + 2, box.width, rowPx - 3);
    }
  });
}

function boxOf({ range, width }: Surface, from: number, length: number) {
  const left = Math.max(0, toX(from, range, width));
  const right = Math.min(width, toX(from + length, range, width));
  return right < 0 || left > width ? undefined : { left, width: Math.max(0.5, right - left) };
}

/** Paint wake-ups as arrows: dashed if an interrupt woke the thread, short if the waker has no row. */
export function paintArrows(surface: Surface, t0_ns: number, arrows: readonly WakeupArrow[]): void {
  const { context, range, width, rowPx, dark } = surface;
  const ink = dark ? "#e8eef5" : "#10161c";
  context.save();
  context.globalAlpha = arrows.length > CLEAR_ARROWS ? 0.45 : 0.9;
  context.strokeStyle = ink;
  context.fillStyle = ink;
  context.lineWidth = 1;
  for (const arrow of arrows) {
    const x1 = toX(t0_ns + arrow.fromNs, range, width);
    const x2 = toX(t0_ns + arrow.toNs, range, width);
    if (Math.max(x1, x2) < 0 || Math.min(x1, x2) > width) continue;
    const toY = (arrow.toRow + 0.5) * rowPx;
    const isSame = arrow.fromRow === arrow.toRow;
    const fromY = arrow.fromRow === undefined ? toY - rowPx * 0.7 : (arrow.fromRow + 0.5) * rowPx;
    const isInterrupt = arrow.wakeup.context.endsWith("interrupt");
    context.setLineDash(isInterrupt ? [3, 2] : []);
    context.beginPath();
    context.moveTo(x1, fromY);
    if (isSame) context.quadraticCurveTo((x1 + x2) / 2, fromY - rowPx * 0.8, x2, toY);
    else context.lineTo(x2, toY);
    context.stroke();
    context.setLineDash([]);
    const angle = isSame ? Math.PI / 4 : Math.atan2(toY - fromY, x2 - x1);
    paintHead(context, x2, toY, angle);
  }
  context.restore();
}

function paintHead(context: CanvasRenderingContext2D, x: number, y: number, angle: number): void {
  context.beginPath();
  context.moveTo(x, y);
  for (const side of [-0.45, 0.45])
    context.lineTo(x - HEAD_PX * 1.5 * Math.cos(angle + side), y - HEAD_PX * 1.5 * Math.sin(angle + side));
  context.closePath();
  context.fill();
}

function taskColor(name: string, dark: boolean): string {
  const lightness = (dark ? 52 : 48) + Math.round(hashToUnit(`${name}.`) * 12);
  return `hsl(${Math.round(hashToUnit(name) * 360)} ${dark ? 48 : 55}% ${lightness}%)`;
}

const cpuColor = (cpu: number, dark: boolean): string =>
  `hsl(${Math.round(205 + cpu * GOLDEN_ANGLE) % 360} ${dark ? 42 : 50}% ${dark ? 56 : 52}%)`;
