import fc from "fast-check";
import { expect, it } from "vitest";
import type { FlameNode } from "./flame";
import { countBoxes, findBoxAt, fitText, layOutFrames } from "./layout";

let next = 0;
const make = (name: string, self: number, children: FlameNode[]): FlameNode => ({
  id: next++,
  name,
  self,
  value: self + children.reduce((sum, child) => sum + child.value, 0),
  kind: "user",
  children,
});
const names = fc.constantFrom("a", "b", "c", "d");
const weights = fc.integer({ min: 0, max: 40 });
const trees: fc.Arbitrary<FlameNode> = fc.letrec<{ tree: FlameNode }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 6 },
    fc.tuple(names, weights).map(([name, self]) => make(name, self, [])),
    fc
      .tuple(names, weights, fc.array(tie("tree"), { maxLength: 4 }))
      .map(([name, self, children]) => make(name, self, children)),
  ),
})).tree;

it("places frames side by side within their callers, and returns the box at a position", () => {
  fc.assert(
    fc.property(trees, fc.integer({ min: 60, max: 2000 }), (tree, width) => {
      const levels = layOutFrames(tree, width, 0.5);
      expect(levels[0]).toEqual([{ node: tree, x: 0, width }]);
      const boxes = new Map(levels.flat().map((box) => [box.node.id, box]));
      for (const level of levels) {
        level.forEach((box, at) => {
          const left = level[at - 1];
          if (left) expect(left.x + left.width).toBeLessThanOrEqual(box.x + 1e-6);
          expect(findBoxAt(level, box.x + box.width / 2)).toBe(box);
          for (const child of box.node.children ?? []) {
            const inner = boxes.get(child.id);
            if (!inner) continue;
            expect(inner.x).toBeGreaterThanOrEqual(box.x - 1e-6);
            expect(inner.x + inner.width).toBeLessThanOrEqual(box.x + box.width + 1e-6);
          }
        });
      }
      expect(findBoxAt(levels[0], -1)).toBeUndefined();
      expect(findBoxAt(levels[0], width)).toBeUndefined();
      expect(countBoxes(tree, width, 0.5)).toBe(boxes.size);
    }),
  );
});

it("supports stacks of 5,000 frames", () => {
  let deep = make("end", 1, []);
  for (let at = 0; at < 5000; at += 1) deep = make("f", 0, [deep]);
  expect(layOutFrames(deep, 800, 1)).toHaveLength(5001);
  expect(countBoxes(deep, 800, 1)).toBe(5001);
});

it("shortens names to the available width", () => {
  expect(fitText("memcpy", 60, 6)).toBe("memcpy");
  expect(fitText("entry_SYSCALL_64", 60, 6)).toBe("entry_SYS…");
  expect(fitText("memcpy", 12, 6)).toBe("");
});

it("places frames with a start there, with gaps between them, and in the order of time", () => {
  const timed = (id: number, name: string, start: number, value: number, children: FlameNode[] = []) => ({
    ...make(name, 0, children),
    id,
    start,
    value,
  });
  // The second call of `a` is after 10 of the caller itself; between the calls is `z`.
  const tree = timed(0, "all", 50, 100, [
    timed(1, "a", 60, 20),
    timed(2, "z", 80, 30, [timed(4, "inner", 100, 10)]),
    timed(3, "a", 140, 10),
  ]);
  const levels = layOutFrames(tree, 200, 1);
  expect(levels[1]?.map(({ node, x, width }) => [node.id, x, width])).toEqual([
    [1, 20, 40],
    [2, 60, 60],
    [3, 180, 20],
  ]);
  expect(levels[2]?.map(({ x, width }) => [x, width])).toEqual([[100, 20]]);
  expect(findBoxAt(levels[1], 10)).toBeUndefined();
});
