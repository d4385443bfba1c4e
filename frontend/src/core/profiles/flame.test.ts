import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  deltaFill,
  deltaGlyph,
  type FlameNode,
  findFrame,
  findMaximumDelta,
  findNeighbor,
  frameFill,
  nestUnderAncestors,
  significantDelta,
  walk,
} from "./flame";

const leaf = (id: number, name: string, value: number, delta?: number): FlameNode => ({
  id,
  name,
  value,
  self: value,
  kind: "user",
  ...(delta === undefined ? {} : { delta }),
});
const tree: FlameNode = {
  ...leaf(0, "all", 10),
  children: [{ ...leaf(1, "main", 9), children: [leaf(2, "b", 3), leaf(3, "a", 6)] }, leaf(4, "idle", 1)],
};
const channels = (fill: string) => (fill.match(/\d+/g) ?? []).map(Number) as [number, number, number];

describe("colors of a comparison", () => {
  it("are red for growth, blue for shrinkage and gray for no change", () => {
    fc.assert(
      fc.property(
        fc.double({ min: 1e-6, max: 1, noNaN: true }),
        fc.constantFrom("light" as const, "dark" as const),
        (delta, scheme) => {
          const [r, , b] = channels(deltaFill(delta, delta, scheme));
          const [r2, , b2] = channels(deltaFill(-delta, delta, scheme));
          const zero = channels(deltaFill(0, delta, scheme));
          expect(r).toBeGreaterThan(b);
          expect(b2).toBeGreaterThan(r2);
          expect(Math.max(...zero) - Math.min(...zero)).toBeLessThan(24);
        },
      ),
    );
  });
  it("are stronger for larger changes, and gray if nothing in the tree changed", () => {
    const red = (d: number) => channels(deltaFill(d, 0.4, "light"))[1];
    expect(red(0.4)).toBeLessThan(red(0.1));
    expect(red(0.1)).toBeLessThan(red(0.01));
    expect(deltaFill(0.2, 0, "light")).toBe(deltaFill(0, 1, "light"));
    expect(deltaFill(Number.NaN, 1, "dark")).toBe(deltaFill(0, 1, "dark"));
  });
  it("have a glyph as an additional cue", () => {
    expect([deltaGlyph(0.02), deltaGlyph(-0.02), deltaGlyph(0)]).toEqual(["▲ ", "▼ ", ""]);
  });
  it("have a scale without ancestors and insignificant changes", () => {
    const changed = (node: FlameNode): FlameNode => ({ ...node, verdict: "changed" });
    const children = [
      changed(leaf(2, "y", 1, -0.3)),
      { ...leaf(3, "z", 1, 0.8), verdict: "noise" as const },
      { ...leaf(4, "few", 1, 0.7), verdict: "few" as const },
      { ...leaf(5, "pruned", 1, 0.6), verdict: null },
    ];
    const root = { ...changed(leaf(0, "all", 1, 0.9)), above: true, children };
    expect(findMaximumDelta(root)).toBe(0.3);
    expect([root, ...children].map(significantDelta)).toEqual([0, -0.3, 0, 0, 0]);
  });
});

it("returns the same color for the same name, and a different hue for each kind", () => {
  expect(frameFill("user", "memcpy", "light")).toBe(frameFill("user", "memcpy", "light"));
  const hue = (fill: string) => Number(/hsl\((\d+)/.exec(fill)?.[1]);
  fc.assert(
    fc.property(fc.string(), (name) => {
      expect(hue(frameFill("user", name, "dark"))).toBeLessThan(60);
      expect(hue(frameFill("kernel", name, "dark"))).toBeGreaterThan(200);
    }),
  );
});

describe("neighbour", () => {
  it("returns the widest child, the parent, or a sibling in display order", () => {
    expect(findNeighbor(tree, 0, "child")?.name).toBe("main");
    expect(findNeighbor(tree, 1, "child")?.name).toBe("a");
    expect(findNeighbor(tree, 3, "next")?.name).toBe("b");
    expect(findNeighbor(tree, 3, "previous")).toBeUndefined();
    expect(findNeighbor(tree, 2, "parent")?.name).toBe("main");
    expect(findNeighbor(tree, 0, "parent")).toBeUndefined();
    expect(findNeighbor(tree, 99, "child")).toBeUndefined();
  });
  it("supports stacks of 20,000 frames", () => {
    let deep: FlameNode = leaf(20000, "end", 1);
    for (let i = 19999; i >= 0; i -= 1) deep = { ...leaf(i, "f", 1), children: [deep] };
    expect([...walk(deep)].length).toBe(20001);
    expect(findFrame(deep, 20000)?.name).toBe("end");
  });
});

it("places the zoomed frame below its ancestors, each with the full width", () => {
  const zoomed = leaf(3, "a", 6);
  const tree = nestUnderAncestors(
    [
      { id: 0, name: "all" },
      { id: 1, name: "main" },
    ],
    zoomed,
  );
  expect([...walk(tree)].map(({ node }) => [node.name, node.value, node.above ?? false])).toEqual([
    ["all", 6, true],
    ["main", 6, true],
    ["a", 6, false],
  ]);
  expect(nestUnderAncestors([], zoomed)).toBe(zoomed);
});
