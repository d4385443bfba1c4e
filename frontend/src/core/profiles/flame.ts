/** Frame of a flame graph: `value` is its total weight including children, `self` its self weight. */
export interface FlameNode {
  id: number | string;
  name: string;
  value: number;
  self: number;
  kind: FrameKind;
  /** File or memory map that contains the frame; absent if unknown. */
  module?: string;
  children?: FlameNode[];
  /** In a comparison: weights of both sides, and B − A of the weights normalized by the total of their side. */
  a?: number;
  b?: number;
  delta?: number;
  /** Whether the difference is significant; `few`: too few samples to test, null: not a single frame. */
  verdict?: "changed" | "noise" | "few" | null;
  /** Smallest significant difference. */
  noise?: number | null;
  /** Whether the frame is an ancestor of the zoomed frame, which has the full width and is dimmed. */
  above?: boolean;
  /** In the order of time: the weight of the samples before the frame, and the times of its first and last sample. */
  start?: number;
  first_ns?: number;
  last_ns?: number;
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

/** Frame on the path from the root to the zoomed frame. */
export interface PathStep {
  id: number | string;
  name: string;
  kind?: FrameKind;
}

/** Return the zoomed frame as the leaf of a column of its ancestors, each with the full width. */
export function nestUnderAncestors(path: readonly PathStep[], tree: FlameNode): FlameNode {
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
 * Return the part of a loaded tree below the path `names`, to display it until the server responds to a zoom. `names`
 * starts below the root. Returns undefined if the tree does not contain the frame.
 */
export function zoomLoadedTree<T extends { tree: FlameNode; path?: readonly PathStep[] | undefined }>(
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

/** Yield each node with its parent, depth first. Not recursive, because stacks can be thousands of frames deep. */
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

/** Return the nodes from the root to a frame, including it, or [] if the tree does not contain the id. */
export function findFramePath(root: FlameNode, id: FlameNode["id"]): FlameNode[] {
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

/** Return the ids of frames whose name contains `text`, case-insensitive. */
export function findFramesByName(root: FlameNode, text: string): Set<FlameNode["id"]> {
  const needle = text.toLowerCase();
  const matches = new Set<FlameNode["id"]>();
  for (const { node } of walk(root)) if (node.name.toLowerCase().includes(needle)) matches.add(node.id);
  return matches;
}

/** Return the regular expression in a search such as `/^malloc/`, or undefined if it is plain text. */
export const parseSearchPattern = (q: string): string | undefined => /^\/(.+)\/$/.exec(q)?.[1];

/** Return the ids of frames that match a search, for trees whose ids the search of the server does not know. */
export function findMatchingFrames(root: FlameNode, q: string): Set<FlameNode["id"]> {
  const pattern = parseSearchPattern(q);
  if (pattern === undefined) return findFramesByName(root, q);
  const matches = new Set<FlameNode["id"]>();
  try {
    const regexp = new RegExp(pattern, "i");
    for (const { node } of walk(root)) if (regexp.test(node.name)) matches.add(node.id);
  } catch {
    // JavaScript cannot parse all RE2 patterns. Then no frame is highlighted, but the server still returns the share.
  }
  return matches;
}

export type Direction = "parent" | "child" | "next" | "previous";

/** Return the frame that an arrow key moves to: the parent, the widest child, or a sibling in display order. */
export function findNeighbor(
  root: FlameNode,
  id: FlameNode["id"],
  direction: Direction,
): FlameNode | undefined {
  for (const { node, parent } of walk(root)) {
    if (node.id !== id) continue;
    if (direction === "parent") return parent ?? undefined;
    if (direction === "child")
      return node.children?.reduce((best, child) => (child.value > best.value ? child : best));
    const row = sortFrames(parent?.children ?? [node]);
    return row[row.indexOf(node) + (direction === "next" ? 1 : -1)];
  }
  return undefined;
}

/** Return siblings in display order: by start if they have one, else by name, because the x axis is not time. */
export const sortFrames = (nodes: readonly FlameNode[]): FlameNode[] =>
  [...nodes].sort((x, y) =>
    x.start !== undefined && y.start !== undefined
      ? x.start - y.start
      : x.name < y.name
        ? -1
        : x.name > y.name
          ? 1
          : 0,
  );

/** Return the FNV-1a hash of the UTF-16 code units of a text, scaled to 0..1. */
export function hashToUnit(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) {
    h ^= text.charCodeAt(i);
    h = Math.imul(h, 0x01000193);
  }
  return (h >>> 0) / 0xffffffff;
}

/**
 * Return the color of a frame by kind: warm for user code, gray-blue for the kernel, green for JIT-compiled code. The
 * shade is a hash of the name and has no meaning.
 */
export function frameFill(kind: FrameKind, name: string, scheme: Scheme): string {
  const spread = hashToUnit(name);
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

const NEUTRAL_COLOR = { light: [222, 225, 229], dark: [132, 140, 150] } as const;
const GROWTH_COLOR = { light: [232, 92, 80], dark: [240, 96, 82] } as const;
const SHRINKAGE_COLOR = { light: [88, 150, 232], dark: [84, 156, 242] } as const;

/**
 * Return the color of a frame in a comparison: red if B has more than A, blue if less, gray if not significant. `delta`
 * is the result of `significantDelta`, `extent` the largest delta in the graph. The square root keeps small changes
 * visible. Red and blue are distinguishable with all common types of color blindness.
 */
export function deltaFill(delta: number, extent: number, scheme: Scheme): string {
  const from = NEUTRAL_COLOR[scheme];
  if (!Number.isFinite(delta) || delta === 0 || extent <= 0) return rgb(from);
  const to = delta > 0 ? GROWTH_COLOR[scheme] : SHRINKAGE_COLOR[scheme];
  const t = Math.sqrt(Math.min(1, Math.abs(delta) / extent));
  return rgb([0, 1, 2].map((i) => Math.round((from[i] ?? 0) + ((to[i] ?? 0) - (from[i] ?? 0)) * t)));
}

/** Return the delta of a frame if it is significant, else 0. Ancestors of the zoomed frame have 0. */
export const significantDelta = (node: FlameNode): number =>
  node.above || node.verdict !== "changed" ? 0 : (node.delta ?? 0);

/** Return the largest significant delta of a tree, which has the strongest color. */
export function findMaximumDelta(root: FlameNode): number {
  let extent = 0;
  for (const { node } of walk(root)) extent = Math.max(extent, Math.abs(significantDelta(node)));
  return extent;
}

/** Return ▲ for growth or ▼ for shrinkage, as a cue in addition to color. */
export const deltaGlyph = (delta: number): string => (delta > 0 ? "▲ " : delta < 0 ? "▼ " : "");

const hsl = (h: number, s: number, l: number): string => `hsl(${h.toFixed(0)} ${s}% ${l.toFixed(0)}%)`;
const rgb = (c: readonly number[]): string => `rgb(${c[0]}, ${c[1]}, ${c[2]})`;
