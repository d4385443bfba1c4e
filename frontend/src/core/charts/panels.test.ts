import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  areaPath,
  findMaximum,
  findValueRange,
  layOutBeeswarm,
  linePath,
  listGaps,
  mergeTimes,
  rankRowMeans,
  splitAtGaps,
  stackLayers,
  toBucketPosition,
  toPercentages,
  type Values,
} from "./panels";

const VALUES = fc.array(fc.option(fc.double({ min: 0, max: 1e9, noNaN: true })), { maxLength: 40 });

describe("stacked layers", () => {
  it("start at the top of the layer below, and ignore missing readings", () => {
    const [, second, third] = stackLayers([
      [1, 2],
      [3, null],
      [1, 1],
    ]);
    expect(second).toEqual({ low: [1, null], high: [4, null] });
    expect(third).toEqual({ low: [4, 2], high: [5, 3] });
  });
  it("add up to the sum of the values", () => {
    fc.assert(
      fc.property(VALUES, VALUES, (a, b) => {
        const n = Math.min(a.length, b.length);
        const layers = stackLayers([a.slice(0, n), b.slice(0, n)]);
        for (let i = 0; i < n; i += 1)
          if (b[i] !== null) expect(layers[1]?.high[i]).toBeCloseTo((a[i] ?? 0) + (b[i] as number), 3);
      }),
    );
  });
  it("have a maximum of at least 0", () => {
    expect(findMaximum([[1, null, 7], [3]])).toBe(7);
    expect(findMaximum([[null], []])).toBe(0);
  });
});

describe("paths", () => {
  const x = (i: number) => i * 10;
  const y = (value: number) => 100 - value;
  it("are interrupted at gaps", () => {
    expect(linePath([1, 2, null, 4], x, y)).toBe("M0 99L10 98M28 96h4");
    expect(linePath([null], x, y)).toBe("");
  });
  it("of areas are closed", () => {
    expect(areaPath({ low: [0, 0], high: [1, 2] }, x, y)).toBe("M0 99L10 98L10 100L0 100Z");
    expect(areaPath({ low: [0], high: [5] }, x, y)).toBe("M-2 95L2 95L2 100L-2 100Z");
  });
  it("contain no NaN, Infinity or null", () => {
    fc.assert(
      fc.property(VALUES, (values) => {
        expect(linePath(values, x, y)).not.toMatch(/NaN|Infinity|null/);
        expect(areaPath({ low: values.map((value) => value && 0), high: values }, x, y)).not.toMatch(
          /NaN|null/,
        );
      }),
    );
  });
});

describe("pauses", () => {
  it("returns the indices of the readings around each gap", () => {
    expect(listGaps([[null, 1, null, null, 2, null]], 6)).toEqual([
      [-1, 1],
      [1, 4],
      [4, 6],
    ]);
    expect(
      listGaps(
        [
          [1, null],
          [null, 1],
        ],
        2,
      ),
    ).toEqual([]);
  });
  it("leaves all readings in stretches", () => {
    fc.assert(
      fc.property(VALUES, (values: Values) => {
        const indices = splitAtGaps(values).flat();
        expect(indices).toEqual([...values.keys()].filter((i) => values[i] !== null));
      }),
    );
  });
});

it("merges the times of several rows", () => {
  expect(mergeTimes([[3, 1], [1, 2], []])).toEqual([1, 2, 3]);
});

it("separates overlapping dots within the available room", () => {
  expect(layOutBeeswarm([10, 10, 10, 40], 3, 20)).toEqual([0, -6, 6, 0]);
  fc.assert(
    fc.property(fc.array(fc.double({ min: 0, max: 500, noNaN: true }), { maxLength: 600 }), (xs) => {
      for (const y of layOutBeeswarm(xs, 3, 14)) expect(Math.abs(y)).toBeLessThanOrEqual(14);
    }),
  );
});

it("converts counts to percent and pads them with zeros", () => {
  expect(toPercentages([1, 3], 3)).toEqual([25, 75, 0]);
  expect(toPercentages([], 2)).toEqual([0, 0]);
});

it("interpolates the position of a value within its bucket", () => {
  const edges = [0, 1, 2, 4, 8];
  expect(edges.map((edge) => toBucketPosition(edge, edges))).toEqual([0, 1, 2, 3, 4]);
  expect(toBucketPosition(3, edges)).toBe(2.5);
  expect([toBucketPosition(1e9, edges), toBucketPosition(-1, edges), toBucketPosition(5, [])]).toEqual([
    5, 0, 0,
  ]);
});

it("returns a value axis that includes zero and all values", () => {
  expect(findValueRange([10, 50])).toEqual({ from: 0, to: 50 });
  expect(findValueRange([])).toEqual({ from: 0, to: 1 });
  expect(findValueRange([-5]).from).toBe(-5);
  fc.assert(
    fc.property(fc.array(fc.double({ min: -1e12, max: 1e12, noNaN: true })), (values) => {
      const { from, to } = findValueRange(values);
      expect(to).toBeGreaterThan(from);
      for (const value of values) expect(value >= from && value <= to).toBe(true);
    }),
  );
});

it("ranks rows by their mean over the chosen columns", () => {
  const rows = [
    [1, 9],
    [2, null],
    [null, null],
  ];
  expect(rankRowMeans(rows, [true, true])).toEqual([
    [0, 5],
    [1, 2],
  ]);
  expect(rankRowMeans(rows, [true, false])).toEqual([
    [1, 2],
    [0, 1],
  ]);
});
