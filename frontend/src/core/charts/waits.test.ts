import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { placeNodes } from "./waits";

const edge = (text: string) => {
  const [source = "", target = ""] = text.split(">");
  return { source, target };
};

describe("the places of a graph of waits", () => {
  it("put who waits left of what is waited for, by the longest way", () => {
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

  it("tell the edge that closes a ring, and draw the rest as a chain", () => {
    const { at, back } = placeNodes(["a", "b"], ["a>b", "b>a"].map(edge));
    expect([...back]).toEqual([1]);
    expect(at.get("b")?.column).toBe(1);
    expect([...placeNodes(["a"], ["a>a"].map(edge)).back]).toEqual([0]);
  });

  it("leave out edges to nodes that are not there, and nothing makes nothing", () => {
    expect(placeNodes(["a"], ["a>x", "x>a"].map(edge)).columns).toBe(1);
    expect(placeNodes([], [])).toMatchObject({ columns: 0, rows: 0 });
  });

  it("hold for any graph: edges that lead on go right, no two nodes share a place", () => {
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
