/** Colors of frames by what they are or by where they are from. Differences have colors of their own. */
import { type FlameNode, type FrameKind, frameFill, hash01, type Scheme, walk } from "./flame";

export const COLORS = ["kind", "module"] as const;
export type ColorBy = (typeof COLORS)[number];

/** The last part of a module's path, by which people know it. */
export const moduleName = (module: string): string =>
  module
    .replace(/ \(deleted\)$/, "")
    .split("/")
    .at(-1) || module;

/** What a frame is labeled with: one that has only an address is labeled with its module. */
export const frameLabel = (node: FlameNode): string =>
  node.name === "[unknown]" && node.module && node.module !== node.name
    ? `${moduleName(node.module)} [unknown]`
    : node.name;

/** The color of a module: a hue from its name. Kernel and unnamed frames keep their own, quieter ones. */
export function moduleFill(module: string, scheme: Scheme): string {
  const name = moduleName(module);
  const hue = Math.round(hash01(name) * 360);
  const step = hash01(`${name}.`) * 8;
  return scheme === "dark"
    ? `hsl(${hue} 42% ${(58 + step).toFixed(0)}%)`
    : `hsl(${hue} 60% ${(74 + step).toFixed(0)}%)`;
}

/** The color of a frame. A frame without a symbol is muted in either way. */
export function fillOf(node: FlameNode, by: ColorBy, scheme: Scheme): string {
  const kind: FrameKind = node.above ? "pruned" : node.kind;
  const isNamed = kind === "user" || kind === "inlined" || kind === "jit";
  if (by === "module" && node.module && isNamed) return moduleFill(node.module, scheme);
  return frameFill(kind, node.name, scheme);
}

export interface LegendItem {
  module: string;
  name: string;
  /** What the frames of the module weigh themselves. */
  self: number;
  fill: string;
}

/** The modules with most weight of their own in a drawing, and the sum of all others. */
export function moduleLegend(root: FlameNode, scheme: Scheme, limit: number): LegendItem[] {
  const sums = new Map<string, { self: number; node: FlameNode }>();
  for (const { node } of walk(root)) {
    if (!node.module || node.above || node.kind === "pruned") continue;
    const known = sums.get(node.module);
    if (known) known.self += node.self;
    else sums.set(node.module, { self: node.self, node });
  }
  return [...sums]
    .sort(([, x], [, y]) => y.self - x.self)
    .slice(0, limit)
    .map(([module, { self, node }]) => ({
      module,
      name: moduleName(module),
      self,
      fill: fillOf(node, "module", scheme),
    }));
}
