/** Layout of the frames of a flame graph. Rendering and hit tests use the same boxes. */
import { type FlameNode, sortFrames } from "./flame";

export interface FrameBox {
  node: FlameNode;
  /** Left edge and width in px. */
  x: number;
  width: number;
}

/** Boxes by level, each level from left to right. */
export type FrameLevels = readonly (readonly FrameBox[])[];

/**
 * Return the boxes of all frames that are at least `least` px wide. The root is `width` px wide. Frames with a start
 * are placed there; all others follow each other from the left.
 */
export function layOutFrames(root: FlameNode, width: number, least: number): FrameLevels {
  const levels: FrameBox[][] = [[{ node: root, x: 0, width }]];
  for (let above = levels[0]; above && above.length > 0; above = levels.at(-1)) {
    const next: FrameBox[] = [];
    for (const box of above) {
      const children = box.node.children;
      if (!children || children.length === 0 || box.node.value <= 0) continue;
      let x = box.x;
      for (const node of children.length > 1 ? sortFrames(children) : children) {
        const wide = (node.value / box.node.value) * box.width;
        if (node.start !== undefined && box.node.start !== undefined)
          x = box.x + ((node.start - box.node.start) / box.node.value) * box.width;
        if (wide >= least) next.push({ node, x, width: wide });
        x += wide;
      }
    }
    if (next.length === 0) break;
    levels.push(next);
  }
  return levels;
}

/** Return the box of a level at `x`, or undefined, by binary search. */
export function findBoxAt(level: readonly FrameBox[] | undefined, x: number): FrameBox | undefined {
  if (!level) return undefined;
  let low = 0;
  let high = level.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const box = level[middle] as FrameBox;
    if (x < box.x) high = middle - 1;
    else if (x >= box.x + box.width) low = middle + 1;
    else return box;
  }
  return undefined;
}

/** Return the number of frames that are at least `least` px wide. The root is `width` px wide. */
export function countBoxes(root: FlameNode, width: number, least: number): number {
  let count = 0;
  const stack = [{ node: root, wide: width }];
  for (let item = stack.pop(); item; item = stack.pop()) {
    count += 1;
    const { node, wide } = item;
    for (const child of node.children ?? []) {
      const childWide = node.value > 0 ? (child.value / node.value) * wide : 0;
      if (childWide >= least) stack.push({ node: child, wide: childWide });
    }
  }
  return count;
}

/** Return a name shortened to `px` in a font with letters of `letterPx` px, or "" if fewer than 3 letters fit. */
export function fitText(name: string, px: number, letterPx: number): string {
  const letters = Math.floor(px / letterPx);
  if (letters >= name.length) return name;
  return letters < 3 ? "" : `${name.slice(0, letters - 1)}…`;
}
