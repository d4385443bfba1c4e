/** Colors of frames by kind or by module. For colors of comparisons see `deltaFill`. */
import { type FlameNode, type FrameKind, frameFill, hashToUnit, type Scheme, walk } from "./flame";

export const COLORS = ["kind", "module"] as const;
export type ColorBy = (typeof COLORS)[number];

/** Return the file name of a module. */
export const moduleName = (module: string): string =>
  module
    .replace(/ \(deleted\)$/, "")
    .split("/")
    .at(-1) || module;

/** Return the label of a frame: its name; of a frame without a symbol, its module and `[unknown]`. */
export const frameLabel = (node: FlameNode): string =>
  node.name === "[unknown]" && node.module && node.module !== node.name
    ? `${moduleName(node.module)} [unknown]`
    : node.name;

/** Return the color of a module. The hue is a hash of its file name. */
export function moduleFill(module: string, scheme: Scheme): string {
  const name = moduleName(module);
  const hue = Math.round(hashToUnit(name) * 360);
  const step = hashToUnit(`${name}.`) * 8;
  return scheme === "dark"
    ? `hsl(${hue} 42% ${(58 + step).toFixed(0)}%)`
    : `hsl(${hue} 60% ${(74 + step).toFixed(0)}%)`;
}

/** Return the color of a frame by kind or module. Kernel frames and frames without a symbol always use their kind. */
export function chooseFrameFill(node: FlameNode, by: ColorBy, scheme: Scheme): string {
  const kind: FrameKind = node.above ? "pruned" : node.kind;
  const isNamed = kind === "user" || kind === "inlined" || kind === "jit";
  if (by === "module" && node.module && isNamed) return moduleFill(node.module, scheme);
  return frameFill(kind, node.name, scheme);
}

export interface LegendItem {
  module: string;
  name: string;
  /** Sum of the self weights of all frames of the module. */
  self: number;
  fill: string;
}

/** Return the `limit` modules with the largest self weight in a tree. */
export function listLegendModules(root: FlameNode, scheme: Scheme, limit: number): LegendItem[] {
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
      fill: chooseFrameFill(node, "module", scheme),
    }));
}
