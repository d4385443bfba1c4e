/** Rows of a call tree table. The set of open nodes is the only state. */
import type { FlameNode } from "./flame";

export interface CallRow {
  node: FlameNode;
  depth: number;
  hasChildren: boolean;
  isOpen: boolean;
}

const byWeight = (nodes: readonly FlameNode[]): FlameNode[] =>
  nodes.filter((node) => node.kind !== "pruned").sort((x, y) => y.value - x.value);

/** Return the visible rows: the root and the children of open nodes, heaviest first, at most `limit`. */
export function listCallRows(root: FlameNode, open: ReadonlySet<FlameNode["id"]>, limit: number): CallRow[] {
  const rows: CallRow[] = [];
  const stack: { node: FlameNode; depth: number }[] = [{ node: root, depth: 0 }];
  for (let item = stack.pop(); item && rows.length < limit; item = stack.pop()) {
    const { node, depth } = item;
    const children = byWeight(node.children ?? []);
    const isOpen = open.has(node.id);
    rows.push({ node, depth, hasChildren: children.length > 0, isOpen });
    if (!isOpen) continue;
    for (const child of children.reverse()) stack.push({ node: child, depth: depth + 1 });
  }
  return rows;
}

/** Return the initially open nodes: from the root to the heaviest child, while it has `share` or more of its parent. */
export function findHeaviestPath(root: FlameNode, share = 0.25, most = 100): Set<FlameNode["id"]> {
  const open = new Set<FlameNode["id"]>();
  for (let node: FlameNode | undefined = root; node && open.size < most; ) {
    open.add(node.id);
    const heaviest: FlameNode | undefined = byWeight(node.children ?? [])[0];
    node = heaviest && heaviest.value >= node.value * share ? heaviest : undefined;
  }
  return open;
}
