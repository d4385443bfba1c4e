/** Where the frames of a tree are drawn: pure, so that painting and pointing use the same boxes. */
import { type FlameNode, visibleFrames } from "./flame";

export interface Box {
  node: FlameNode;
  /** Left edge and width in px. */
  x: number;
  width: number;
}

/** Boxes by level, each level from left to right. */
export type Levels = readonly (readonly Box[])[];

/** The boxes of all frames that are at least `least` px wide; the root is as wide as `width`. */
export function layOutFrames(root: FlameNode, width: number, least: number): Levels {
  const levels: Box[][] = [[{ node: root, x: 0, width }]];
  for (let above = levels[0]; above && above.length > 0; above = levels.at(-1)) {
    const next: Box[] = [];
    for (const box of above) {
      const children = box.node.children;
      if (!children || children.length === 0 || box.node.value <= 0) continue;
      let x = box.x;
      for (const node of children.length > 1 ? visibleFrames(children) : children) {
        const wide = (node.value / box.node.value) * box.width;
        if (wide >= least) next.push({ node, x, width: wide });
        x += wide;
      }
    }
    if (next.length === 0) break;
    levels.push(next);
  }
  return levels;
}

/** The box of a level under `x`, by bisection. */
export function boxAt(level: readonly Box[] | undefined, x: number): Box | undefined {
  if (!level) return undefined;
  let low = 0;
  let high = level.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const box = level[middle] as Box;
    if (x < box.x) high = middle - 1;
    else if (x >= box.x + box.width) low = middle + 1;
    else return box;
  }
  return undefined;
}

/** How many frames are at least `least` px wide when the root is as wide as `width`. */
export function countBoxes(root: FlameNode, width: number, least: number): number {
  let count = 0;
  const left = [{ node: root, wide: width }];
  for (let item = left.pop(); item; item = left.pop()) {
    count += 1;
    const { node, wide } = item;
    for (const child of node.children ?? []) {
      const childWide = node.value > 0 ? (child.value / node.value) * wide : 0;
      if (childWide >= least) left.push({ node: child, wide: childWide });
    }
  }
  return count;
}

/** The part of a name that fits into `px` in a font whose letters are `letterPx` wide; "" where nothing does. */
export function fitText(name: string, px: number, letterPx: number): string {
  const letters = Math.floor(px / letterPx);
  if (letters >= name.length) return name;
  return letters < 3 ? "" : `${name.slice(0, letters - 1)}…`;
}
