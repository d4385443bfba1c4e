/** Layout of wait-for graphs: waiting threads at the left, the objects of their waits at the right. */

export interface WaitEdge {
  readonly source: string;
  readonly target: string;
}

export interface PlacedNode {
  /** Column and row of each node, both from 0. */
  readonly at: ReadonlyMap<string, { readonly column: number; readonly row: number }>;
  readonly columns: number;
  readonly rows: number;
  /** Indices of the back edges; without them the graph is acyclic. */
  readonly back: ReadonlySet<number>;
}

/**
 * Assign each node a column and a row. The column is the length of the longest path from a node without incoming edges.
 * Back edges are ignored; a depth-first search detects them in the order of `edges` (heaviest first). Rows keep the
 * order of `nodes`. Edges to unknown nodes are ignored.
 */
export function placeNodes(nodes: readonly string[], edges: readonly WaitEdge[]): PlacedNode {
  const ids = new Set(nodes);
  const out = new Map<string, number[]>(nodes.map((id) => [id, []]));
  for (const [i, { source, target }] of edges.entries())
    if (ids.has(source) && ids.has(target)) out.get(source)?.push(i);
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

/** Return the nodes in topological order without back edges, and the indices of the back edges. */
function depthFirst(
  nodes: readonly string[],
  edges: readonly WaitEdge[],
  out: ReadonlyMap<string, readonly number[]>,
): { order: string[]; back: Set<number> } {
  const back = new Set<number>();
  const done: string[] = [];
  const seen = new Map<string, "open" | "done">();
  // Uses an explicit stack, because a chain of all threads of a host is too deep for recursion.
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
