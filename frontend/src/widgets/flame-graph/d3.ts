import flamegraph, { type Chart, type Frame } from "d3-flame-graph";
import { select } from "d3-selection";
import type { FlameNode } from "../../core/profiles/flame";
import { CELL_PX, type Drawing, type FlameOptions, MIN_FRAME_PX } from "./drawing";

/**
 * Render a tree into `element` with d3-flame-graph. A click only calls `onPick`: the caller zooms, because the server
 * provides the detail below a frame.
 */
export function drawFlame(element: HTMLElement, tree: FlameNode, options: FlameOptions): Drawing {
  const chart: Chart<FlameNode> = flamegraph<FlameNode>()
    .width(options.width)
    .cellHeight(CELL_PX)
    .minFrameSize(MIN_FRAME_PX)
    .transitionDuration(0)
    .inverted(options.inverted)
    .sort(byName)
    .title("")
    .getName((frame) => options.label(frame.data))
    .setLabelHandler((frame) => options.title(frame.data))
    .setColorMapper((frame) => options.fill(frame.data))
    .onHover((frame) => options.onHover(frame.data));
  select(element).datum(tree).call(chart);
  const leave = () => options.onHover(null);
  // Handles clicks in the capture phase, before d3-flame-graph: its zoom would render again, with less detail.
  const pick = (event: MouseEvent) => {
    const group = (event.target as Element | null)?.closest("g.frame");
    if (!group) return;
    event.stopPropagation();
    options.onPick(nodeOf(group));
  };
  const menu = (event: MouseEvent) => {
    const group = (event.target as Element | null)?.closest("g.frame");
    if (group && options.onMenu?.(nodeOf(group), { x: event.clientX, y: event.clientY }))
      event.preventDefault();
  };
  let marked: SVGGElement | undefined;
  element.addEventListener("click", pick, true);
  element.addEventListener("contextmenu", menu);
  element.addEventListener("mouseleave", leave);
  return {
    mark: (id) => {
      marked?.removeAttribute("data-marked");
      marked = id === null ? undefined : frameElement(element, id);
      marked?.setAttribute("data-marked", "");
      const [x = 0, y = 0] = (marked?.getAttribute("transform")?.match(/[\d.]+/g) ?? []).map(Number);
      return marked && { x, y };
    },
    destroy: () => {
      element.removeEventListener("mouseleave", leave);
      element.removeEventListener("contextmenu", menu);
      element.removeEventListener("click", pick, true);
      chart.destroy();
      element.replaceChildren();
    },
  };
}

/** Return the SVG group of a frame, or undefined if it is not rendered. */
export function frameElement(element: HTMLElement, id: FlameNode["id"]): SVGGElement | undefined {
  for (const group of element.querySelectorAll<SVGGElement>("g.frame")) {
    if (nodeOf(group).id === id) return group;
  }
  return undefined;
}

/** Return the node of an SVG group. */
const nodeOf = (group: Element): FlameNode => select<Frame<FlameNode>>(group).datum().data;

function byName(a: Frame<FlameNode>, b: Frame<FlameNode>): number {
  return a.data.name < b.data.name ? -1 : a.data.name > b.data.name ? 1 : 0;
}
