import type { FlameNode } from "../../core/profiles/flame";
import { type FrameLevels, findBoxAt, fitText, layOutFrames } from "../../core/profiles/layout";
import { CELL_PX, type Drawing, type FlameOptions, MIN_FRAME_PX } from "./drawing";

const FONT = "11px 'JetBrains Mono Variable', ui-monospace, monospace";
const PADDING_PX = 4;
const MIN_TEXT_PX = 22;
const INK = "#14181d";

/**
 * Render a tree on a canvas as high as the visible part of `element`, which scrolls in its parent. A frame costs a
 * rectangle and a text instead of five DOM elements. Only visible levels are painted.
 */
export function drawFlameCanvas(element: HTMLElement, tree: FlameNode, options: FlameOptions): Drawing {
  const levels = layOutFrames(tree, options.width, MIN_FRAME_PX);
  const height = levels.length * CELL_PX;
  const scroller = element.parentElement;
  const canvas = document.createElement("canvas");
  const style = getComputedStyle(element);
  const panel = style.getPropertyValue("--c-panel") || "#fff";
  const accent = style.getPropertyValue("--c-accent") || "#0f63b0";
  canvas.style.cssText = "display:block;position:sticky;top:0;width:100%";
  element.style.height = `${height}px`;
  element.replaceChildren(canvas);
  let marked: FlameNode["id"] | null = null;
  let hovered: FlameNode | null = null;
  let frame = 0;

  const paint = () => {
    const ratio = window.devicePixelRatio || 1;
    const visible = Math.max(CELL_PX, Math.min(height, scroller?.clientHeight || height));
    const deviceWidth = Math.round(options.width * ratio);
    const deviceHeight = Math.round(visible * ratio);
    if (canvas.width !== deviceWidth || canvas.height !== deviceHeight) {
      canvas.width = deviceWidth;
      canvas.height = deviceHeight;
      canvas.style.height = `${visible}px`;
    }
    const context = canvas.getContext("2d");
    if (!context) return;
    const top = Math.min(scroller?.scrollTop ?? 0, height - visible);
    context.setTransform(ratio, 0, 0, ratio, 0, -top * ratio);
    context.clearRect(0, top, options.width, visible);
    paintLevels(context, levels, { options, height, top, bottom: top + visible, panel });
    const box = marked === null ? undefined : findBoxPosition(levels, marked);
    if (box) {
      context.strokeStyle = accent;
      context.lineWidth = 2;
      context.strokeRect(box.x + 1, yOf(box.level, height, options.inverted) + 1, box.width - 2, CELL_PX - 2);
    }
  };
  const later = () => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(paint);
  };
  const nodeUnder = (event: MouseEvent): FlameNode | null => {
    const bounds = element.getBoundingClientRect();
    const row = Math.floor((event.clientY - bounds.top) / CELL_PX);
    const level = options.inverted ? row : levels.length - 1 - row;
    return findBoxAt(levels[level], event.clientX - bounds.left)?.node ?? null;
  };
  const point = (event: MouseEvent) => {
    const node = nodeUnder(event);
    if (node === hovered) return;
    hovered = node;
    canvas.title = node ? options.title(node) : "";
    canvas.style.cursor = node ? "pointer" : "default";
    options.onHover(node);
  };
  const leave = () => {
    hovered = null;
    options.onHover(null);
  };
  const pick = (event: MouseEvent) => {
    const node = nodeUnder(event);
    if (node) options.onPick(node);
  };
  const menu = (event: MouseEvent) => {
    const node = nodeUnder(event);
    if (node && options.onMenu?.(node, { x: event.clientX, y: event.clientY })) event.preventDefault();
  };
  canvas.addEventListener("mousemove", point);
  canvas.addEventListener("mouseleave", leave);
  canvas.addEventListener("click", pick);
  canvas.addEventListener("contextmenu", menu);
  scroller?.addEventListener("scroll", later, { passive: true });
  paint();
  return {
    mark: (id) => {
      marked = id;
      later();
      const box = id === null ? undefined : findBoxPosition(levels, id);
      return box && { x: box.x, y: yOf(box.level, height, options.inverted) };
    },
    repaint: later,
    destroy: () => {
      cancelAnimationFrame(frame);
      scroller?.removeEventListener("scroll", later);
      element.style.height = "";
      element.replaceChildren();
    },
  };
}

const yOf = (level: number, height: number, inverted: boolean): number =>
  inverted ? level * CELL_PX : height - (level + 1) * CELL_PX;

function findBoxPosition(levels: FrameLevels, id: FlameNode["id"]) {
  for (let level = 0; level < levels.length; level += 1)
    for (const box of levels[level] ?? []) if (box.node.id === id) return { ...box, level };
  return undefined;
}

interface View {
  options: FlameOptions;
  height: number;
  top: number;
  bottom: number;
  panel: string;
}

/** Paint the levels between `top` and `bottom`. A gap separates frames wider than 2 px. */
function paintLevels(context: CanvasRenderingContext2D, levels: FrameLevels, view: View): void {
  context.font = FONT;
  context.textBaseline = "middle";
  const letterPx = context.measureText("m").width || 6.6;
  levels.forEach((level, at) => {
    const y = yOf(at, view.height, view.options.inverted);
    if (y + CELL_PX < view.top || y > view.bottom) return;
    for (const { node, x, width } of level) {
      context.fillStyle = view.options.fill(node);
      context.fillRect(x, y, width > 2 ? width - 0.75 : width, CELL_PX - 1);
      if (width < MIN_TEXT_PX) continue;
      const text = fitText(view.options.label(node), width - 2 * PADDING_PX, letterPx);
      if (!text) continue;
      context.fillStyle = INK;
      context.fillText(text, x + PADDING_PX, y + CELL_PX / 2);
    }
  });
}
