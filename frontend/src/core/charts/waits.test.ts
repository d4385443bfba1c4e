import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { placeNodes } from "./waits";

const edge = (text: string) => {
  const [source = "", target = ""] = text.split(">");
  return { source, target };
};

describe("placeNodes", () => {
  it("places a waiting node left of its target, by the longest path", () => {
    const { at, columns, back } = placeNodes(["a", "b", "c", "d"], ["a>b", "b>c", "a>c", "d>c"].map(edge));
    expect(columns).toBe(3);
    expect([...at].map(([id, { column, row }]) => `${id}${column}${row}`)).toEqual([
      "a00",
      "b10",
      "c20",
      "d01",
    ]);
    expect(back.size).toBe(0);
  });

  it("returns the edge that closes a cycle as a back edge", () => {
    const { at, back } = placeNodes(["a", "b"], ["a>b", "b>a"].map(edge));
    expect([...back]).toEqual([1]);
    expect(at.get("b")?.column).toBe(1);
    expect([...placeNodes(["a"], ["a>a"].map(edge)).back]).toEqual([0]);
  });

  it("ignores edges to unknown nodes, and accepts an empty graph", () => {
    expect(placeNodes(["a"], ["a>x", "x>a"].map(edge)).columns).toBe(1);
    expect(placeNodes([], [])).toMatchObject({ columns: 0, rows: 0 });
  });

  it("points forward edges to the right and gives each node its own position, for any graph", () => {
    const id = fc.integer({ min: 0, max: 12 }).map(String);
    fc.assert(
      fc.property(fc.array(fc.record({ source: id, target: id }), { maxLength: 40 }), (edges) => {
        const nodes = [...new Set(edges.flatMap(({ source, target }) => [source, target]))];
        const { at, back } = placeNodes(nodes, edges);
        for (const [i, { source, target }] of edges.entries())
          if (!back.has(i)) expect(at.get(source)!.column).toBeLessThan(at.get(target)!.column);
        expect(new Set([...at.values()].map(({ column, row }) => `${column}/${row}`)).size).toBe(
          nodes.length,
        );
      }),
    );
  });
});
