import flamegraph, { type Chart, type Frame } from "d3-flame-graph";
import { select } from "d3-selection";
import type { FlameNode } from "../../core/profiles/flame";

/** Frames narrower than this are not drawn; the server has pruned below half of it. */
const MIN_FRAME_PX = 1;
export const CELL_PX = 18;

export interface FlameOptions {
  width: number;
  /** Root on top, as an icicle. */
  inverted: boolean;
  fill(node: FlameNode): string;
  label(node: FlameNode): string;
  title(node: FlameNode): string;
  onPick(node: FlameNode): void;
  onHover(node: FlameNode | null): void;
}

/**
 * Draws a tree into `element` and returns how to remove it. Zooming is the caller's:
 * a click only names the frame, because the detail below it comes from the server.
 */
export function drawFlame(element: HTMLElement, tree: FlameNode, options: FlameOptions) {
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
  // Taken before the library sees it: its own zoom would draw a second time, with less detail.
  const pick = (event: MouseEvent) => {
    const group = (event.target as Element | null)?.closest("g.frame");
    if (!group) return;
    event.stopPropagation();
    options.onPick(nodeOf(group));
  };
  element.addEventListener("click", pick, true);
  element.addEventListener("mouseleave", leave);
  return {
    destroy: () => {
      element.removeEventListener("mouseleave", leave);
      element.removeEventListener("click", pick, true);
      chart.destroy();
      element.replaceChildren();
    },
  };
}

/** The drawn group of a frame, for the keyboard's outline and for tests. */
export function frameElement(element: HTMLElement, id: FlameNode["id"]): SVGGElement | undefined {
  for (const group of element.querySelectorAll<SVGGElement>("g.frame")) {
    if (nodeOf(group).id === id) return group;
  }
  return undefined;
}

/** The node that a frame displays. */
const nodeOf = (group: Element): FlameNode => select<Frame<FlameNode>>(group).datum().data;

function byName(a: Frame<FlameNode>, b: Frame<FlameNode>): number {
  return a.data.name < b.data.name ? -1 : a.data.name > b.data.name ? 1 : 0;
}
