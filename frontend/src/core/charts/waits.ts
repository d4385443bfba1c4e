/** Positions of the nodes of a graph of waits: waiting threads left, what they wait for right, nodes that close a ring last. */

export interface WaitEdge {
  readonly source: string;
  readonly target: string;
}

export interface PlacedNode {
  /** Column and row of each node, both from 0. */
  readonly at: ReadonlyMap<string, { readonly column: number; readonly row: number }>;
  readonly columns: number;
  readonly rows: number;
  /** The indices of the edges that lead back: without them there is no ring. */
  readonly back: ReadonlySet<number>;
}

/**
 * Columns by the longest way from a node that no other node waits for. Edges that close a ring are found first, depth first
 * in the order given (the heaviest edges come first), and do not count. Rows keep the order of `nodes`.
 */
export function placeNodes(nodes: readonly string[], edges: readonly WaitEdge[]): PlacedNode {
  const known = new Set(nodes);
  const out = new Map<string, number[]>(nodes.map((id) => [id, []]));
  for (const [i, { source, target }] of edges.entries())
    if (known.has(source) && known.has(target)) out.get(source)?.push(i);
  const { order, back } = depthFirst(nodes, edges, out);
  const column = new Map<string, number>(nodes.map((id) => [id, 0]));
  for (const id of order)
    for (const i of out.get(id) ?? []) {
      const target = edges[i]?.target ?? "";
      if (!back.has(i)) column.set(target, Math.max(column.get(target) ?? 0, (column.get(id) ?? 0) + 1));
    }
  const filled: number[] = [];
  const at = new Map<string, { column: number; row: number }>();
  for (const id of nodes) {
    const which = column.get(id) ?? 0;
    const row = filled[which] ?? 0;
    filled[which] = row + 1;
    at.set(id, { column: which, row });
  }
  return { at, columns: filled.length, rows: Math.max(0, ...filled.map((n) => n ?? 0)), back };
}

/** Nodes with every edge that leads on going from earlier to later, and the edges that lead back. */
function depthFirst(
  nodes: readonly string[],
  edges: readonly WaitEdge[],
  out: ReadonlyMap<string, readonly number[]>,
): { order: string[]; back: Set<number> } {
  const back = new Set<number>();
  const done: string[] = [];
  const seen = new Map<string, "open" | "done">();
  // A stack of our own: a chain as long as a host has threads would be too deep for calls.
  for (const root of nodes) {
    if (seen.has(root)) continue;
    const stack: { id: string; next: number }[] = [{ id: root, next: 0 }];
    seen.set(root, "open");
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const edge = (out.get(top.id) ?? [])[top.next];
      top.next += 1;
      if (edge === undefined) {
        seen.set(top.id, "done");
        done.push(top.id);
        stack.pop();
        continue;
      }
      const target = edges[edge]?.target ?? "";
      const state = seen.get(target);
      if (state === "open") back.add(edge);
      else if (state === undefined) {
        seen.set(target, "open");
        stack.push({ id: target, next: 0 });
      }
    }
  }
  return { order: done.reverse(), back };
}
