/** A call tree as rows of a table: pure, so that opening and closing is a set of ids. */
import type { FlameNode } from "./flame";

export interface CallRow {
  node: FlameNode;
  depth: number;
  hasChildren: boolean;
  isOpen: boolean;
}

const byWeight = (nodes: readonly FlameNode[]): FlameNode[] =>
  nodes.filter((node) => node.kind !== "pruned").sort((x, y) => y.value - x.value);

/** The rows below open nodes, heaviest first, at most `limit`. */
export function callRows(root: FlameNode, open: ReadonlySet<FlameNode["id"]>, limit: number): CallRow[] {
  const rows: CallRow[] = [];
  const left: { node: FlameNode; depth: number }[] = [{ node: root, depth: 0 }];
  for (let item = left.pop(); item && rows.length < limit; item = left.pop()) {
    const { node, depth } = item;
    const children = byWeight(node.children ?? []);
    const isOpen = open.has(node.id);
    rows.push({ node, depth, hasChildren: children.length > 0, isOpen });
    if (!isOpen) continue;
    for (const child of children.reverse()) left.push({ node: child, depth: depth + 1 });
  }
  return rows;
}

/** The nodes to open first: from the root down as long as one child has at least `share` of its parent. */
export function heaviestPath(root: FlameNode, share = 0.25, most = 100): Set<FlameNode["id"]> {
  const open = new Set<FlameNode["id"]>();
  for (let node: FlameNode | undefined = root; node && open.size < most; ) {
    open.add(node.id);
    const heaviest: FlameNode | undefined = byWeight(node.children ?? [])[0];
    node = heaviest && heaviest.value >= node.value * share ? heaviest : undefined;
  }
  return open;
}
