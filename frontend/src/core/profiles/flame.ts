/** A frame as the server draws it: `value` is its weight with everything below it, `self` its own. */
export interface FlameNode {
  id: number | string;
  name: string;
  value: number;
  self: number;
  kind: FrameKind;
  /** The file or map that the frame is in; absent where that is unknown. */
  module?: string;
  children?: FlameNode[];
  /** In a difference: weights of both sides, and B − A after each was divided by what its side has as a whole. */
  a?: number;
  b?: number;
  delta?: number;
  /** Whether the difference is more than chance; `few`: too few samples to test, null: not one frame. */
  verdict?: "changed" | "noise" | "few" | null;
  /** The least difference that would be more than chance. */
  noise?: number | null;
  /** An ancestor of the frame that was zoomed to: full width, dimmed. */
  above?: boolean;
}

export type FrameKind =
  | "root"
  | "comm"
  | "user"
  | "kernel"
  | "jit"
  | "inlined"
  | "unknown"
  | "pruned"
  | "idle";
export type Scheme = "light" | "dark";

/** A place on the way from the root to the frame that was zoomed to. */
export interface PathStep {
  id: number | string;
  name: string;
  kind?: FrameKind;
}

/** The zoomed frame under a column of its ancestors, each as wide as the whole drawing. */
export function underAncestors(path: readonly PathStep[], tree: FlameNode): FlameNode {
  let node = tree;
  for (let i = path.length - 1; i >= 0; i -= 1) {
    const step = path[i];
    if (!step || step.id === tree.id) continue;
    node = {
      id: step.id,
      name: step.name,
      kind: step.kind ?? "user",
      value: tree.value,
      self: 0,
      above: true,
      children: [node],
      ...(tree.delta === undefined ? {} : { delta: 0 }),
    };
  }
  return node;
}

/**
 * What is known of a zoom before the server answers: the part of a drawn tree below `names`, which begin below the
 * root. Undefined where the drawing does not have that frame.
 */
export function zoomWithin<T extends { tree: FlameNode; path?: readonly PathStep[] | undefined }>(
  present: T,
  names: readonly string[],
): T | undefined {
  const path: PathStep[] = [...(present.path ?? [])];
  let tree = present.tree;
  const above = [...path.map((step) => step.name), tree.name].slice(1);
  if (above.some((name, at) => names[at] !== name)) return undefined;
  for (const name of names.slice(above.length)) {
    const children = (tree.children ?? []).filter((node) => node.name === name);
    const [heaviest] = children.sort((x, y) => y.value - x.value);
    if (!heaviest) return undefined;
    path.push({ id: tree.id, name: tree.name });
    tree = heaviest;
  }
  return { ...present, path, tree };
}

/** Every node with its parent, depth first, without recursion: stacks may be thousands of frames deep. */
export function* walk(
  root: FlameNode,
): Generator<{ node: FlameNode; parent: FlameNode | null; depth: number }> {
  const stack: { node: FlameNode; parent: FlameNode | null; depth: number }[] = [
    { node: root, parent: null, depth: 0 },
  ];
  for (let item = stack.pop(); item; item = stack.pop()) {
    yield item;
    const children = item.node.children ?? [];
    for (let i = children.length - 1; i >= 0; i -= 1)
      stack.push({ node: children[i] as FlameNode, parent: item.node, depth: item.depth + 1 });
  }
}

/** The nodes from the root down to a frame, itself included; empty where the tree has none of that id. */
export function pathTo(root: FlameNode, id: FlameNode["id"]): FlameNode[] {
  const path: FlameNode[] = [];
  for (const { node, depth } of walk(root)) {
    path.length = depth;
    path.push(node);
    if (node.id === id) return path;
  }
  return [];
}

export function findFrame(root: FlameNode, id: FlameNode["id"]): FlameNode | undefined {
  for (const { node } of walk(root)) if (node.id === id) return node;
  return undefined;
}

/** Ids of the drawn frames whose name holds `text`, in any case. */
export function namesWith(root: FlameNode, text: string): Set<FlameNode["id"]> {
  const needle = text.toLowerCase();
  const matches = new Set<FlameNode["id"]>();
  for (const { node } of walk(root)) if (node.name.toLowerCase().includes(needle)) matches.add(node.id);
  return matches;
}

/** A search between slashes is a pattern; anything else is a part of a name. */
export const patternOf = (q: string): string | undefined => /^\/(.+)\/$/.exec(q)?.[1];

/** Ids of the drawn frames that a search matches, for trees whose ids the server's search does not know. */
export function matchingIds(root: FlameNode, q: string): Set<FlameNode["id"]> {
  const pattern = patternOf(q);
  if (pattern === undefined) return namesWith(root, q);
  const matches = new Set<FlameNode["id"]>();
  try {
    const read = new RegExp(pattern, "i");
    for (const { node } of walk(root)) if (read.test(node.name)) matches.add(node.id);
  } catch {
    // A pattern of RE2 that this browser cannot read marks nothing; its share is still displayed.
  }
  return matches;
}

export type Direction = "parent" | "child" | "next" | "previous";

/** The frame that an arrow key leads to; the widest child, or the sibling in drawing order. */
export function neighbour(root: FlameNode, id: FlameNode["id"], direction: Direction): FlameNode | undefined {
  for (const { node, parent } of walk(root)) {
    if (node.id !== id) continue;
    if (direction === "parent") return parent ?? undefined;
    if (direction === "child")
      return node.children?.reduce((best, child) => (child.value > best.value ? child : best));
    const row = visibleFrames(parent?.children ?? [node]);
    return row[row.indexOf(node) + (direction === "next" ? 1 : -1)];
  }
  return undefined;
}

/** Siblings in the order of the drawing: by name, which carries no time. */
export const visibleFrames = (nodes: readonly FlameNode[]): FlameNode[] =>
  [...nodes].sort((x, y) => (x.name < y.name ? -1 : x.name > y.name ? 1 : 0));

/** FNV-1a over UTF-16 units, to a number in 0..1. */
export function hash01(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) {
    h ^= text.charCodeAt(i);
    h = Math.imul(h, 0x01000193);
  }
  return (h >>> 0) / 0xffffffff;
}

/**
 * Color of a frame in an ordinary graph: warm for user code, grey-blue for the kernel, green for code that
 * was compiled at run time; the shade within a family comes from the name and means nothing.
 */
export function frameFill(kind: FrameKind, name: string, scheme: Scheme): string {
  const spread = hash01(name);
  const dark = scheme === "dark";
  switch (kind) {
    case "kernel":
      return hsl(208 + spread * 14, dark ? 24 : 34, (dark ? 54 : 70) + spread * 8);
    case "jit":
      return hsl(88 + spread * 34, dark ? 34 : 46, (dark ? 50 : 64) + spread * 8);
    case "unknown":
      return dark ? "#98a2ad" : "#c3c9d0";
    case "pruned":
    case "idle":
      return dark ? "#7a8591" : "#e3e6ea";
    case "root":
    case "comm":
      return dark ? "#8893a0" : "#d3d8de";
    default:
      return hsl(14 + spread * 32, dark ? 62 : 82, (dark ? 55 : 63) + spread * 7);
  }
}

const NEUTRAL = { light: [222, 225, 229], dark: [132, 140, 150] } as const;
const GREW = { light: [232, 92, 80], dark: [240, 96, 82] } as const;
const SHRANK = { light: [88, 150, 232], dark: [84, 156, 242] } as const;

/**
 * Color of a frame in a difference: red where B has more than A, blue where it has less, grey where it is no more
 * than chance. `delta` is the marked difference, `extent` the largest one in the drawing; the square root keeps small
 * changes visible next to a large one. Red and blue are distinguishable with every common color blindness.
 */
export function deltaFill(delta: number, extent: number, scheme: Scheme): string {
  const from = NEUTRAL[scheme];
  if (!Number.isFinite(delta) || delta === 0 || extent <= 0) return rgb(from);
  const to = delta > 0 ? GREW[scheme] : SHRANK[scheme];
  const t = Math.sqrt(Math.min(1, Math.abs(delta) / extent));
  return rgb([0, 1, 2].map((i) => Math.round((from[i] ?? 0) + ((to[i] ?? 0) - (from[i] ?? 0)) * t)));
}

/** How much a frame changed by more than chance: what is drawn in color. Chance and ancestors have none. */
export const markedDelta = (node: FlameNode): number =>
  node.above || node.verdict !== "changed" ? 0 : (node.delta ?? 0);

/** The largest change in a drawing, the full strength of its colors. */
export function deltaExtent(root: FlameNode): number {
  let extent = 0;
  for (const { node } of walk(root)) extent = Math.max(extent, Math.abs(markedDelta(node)));
  return extent;
}

/** A second cue besides color: ▲ grew, ▼ shrank. */
export const deltaGlyph = (delta: number): string => (delta > 0 ? "▲ " : delta < 0 ? "▼ " : "");

const hsl = (h: number, s: number, l: number): string => `hsl(${h.toFixed(0)} ${s}% ${l.toFixed(0)}%)`;
const rgb = (c: readonly number[]): string => `rgb(${c[0]}, ${c[1]}, ${c[2]})`;
