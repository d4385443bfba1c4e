/** The flame graph of a page before its application has started: the picture, at the position of the last one. */
import { type ColorBy, chooseFrameFill, frameLabel } from "../../core/profiles/colors";
import type { FlameNode, Scheme } from "../../core/profiles/flame";
import { countBoxes } from "../../core/profiles/layout";
import { drawFlameCanvas } from "./canvas";
import { DETAILS_PX, type Drawing, LEAST_PX, MIN_FRAME_PX } from "./drawing";

const KEY = "culprit.flame-place";
/** The picture is removed after this time if the page draws no flame graph, for example because it shows an error. */
const KEPT_MS = 10_000;

/** Position of a flame graph in the page, in px, and the state of the window and the page that it applies to. */
interface FlamePlace {
  left: number;
  top: number;
  width: number;
  layout: string;
}

interface EarlyOptions {
  inverted: boolean;
  colorBy: ColorBy;
}

let picture: { element: HTMLElement; drawing: Drawing; timer: ReturnType<typeof setTimeout> } | undefined;
let isReplaced = false;

/** Return what the position depends on: the width of the window, and which parts the address adds to the page. */
const describeLayout = (): string =>
  `${window.innerWidth} ${[...new URLSearchParams(location.search).keys()].sort().join(" ")}`;

function readPlace(): FlamePlace {
  const fallback = { left: 21, top: 304, width: window.innerWidth - 42 };
  try {
    const stored = JSON.parse(localStorage.getItem(KEY) ?? "null") as FlamePlace | null;
    if (stored?.layout === describeLayout() && [stored.left, stored.top, stored.width].every(Number.isFinite))
      return stored;
  } catch {
    // Of another version, or altered by the user.
  }
  return { ...fallback, layout: "" };
}

/** Store the position of a flame graph, for the next opening of a profile. */
export function rememberFlamePlace(element: HTMLElement): void {
  const { left, top, width } = element.getBoundingClientRect();
  const place: FlamePlace = {
    left: left + window.scrollX,
    top: top + window.scrollY,
    width,
    layout: describeLayout(),
  };
  const text = JSON.stringify(place);
  if (localStorage.getItem(KEY) !== text) localStorage.setItem(KEY, text);
}

/** Draw a tree over the empty page, unless the application has drawn its flame graph. It takes no pointer events. */
export function drawEarlyFlame(tree: FlameNode, { inverted, colorBy }: EarlyOptions): void {
  if (isReplaced || picture) return;
  const place = readPlace();
  const element = document.createElement("div");
  const height = Math.max(LEAST_PX, window.innerHeight - place.top - DETAILS_PX);
  element.setAttribute("aria-hidden", "true");
  element.style.cssText =
    `position:absolute;left:${place.left}px;top:${place.top}px;width:${place.width}px;max-height:${height}px;` +
    "min-height:240px;overflow:hidden auto;scrollbar-gutter:stable;pointer-events:none;background:var(--c-panel)";
  const canvas = document.createElement("div");
  canvas.dataset.testid = "early-flame";
  element.append(canvas);
  document.body.append(element);
  const width = canvas.clientWidth;
  const scheme: Scheme =
    document.documentElement.getAttribute("data-mantine-color-scheme") === "light" ? "light" : "dark";
  const drawing = drawFlameCanvas(canvas, tree, {
    width,
    inverted,
    fill: (node) => chooseFrameFill(node, colorBy, scheme),
    label: frameLabel,
    title: frameLabel,
    onPick: () => undefined,
    onHover: () => undefined,
  });
  canvas.dataset.frames = String(countBoxes(tree, width, MIN_FRAME_PX));
  if (!inverted) element.scrollTop = element.scrollHeight;
  picture = { element, drawing, timer: setTimeout(removeEarlyFlame, KEPT_MS) };
}

/** Remove the early picture, and draw none later: the application has drawn, or another page is open. */
export function removeEarlyFlame(): void {
  isReplaced = true;
  if (!picture) return;
  clearTimeout(picture.timer);
  picture.drawing.destroy();
  picture.element.remove();
  picture = undefined;
}
