import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  applyRowChanges,
  buildGroups,
  clusterByPosition,
  computeMatrixStats,
  computeStats,
  defaultRows,
  diffRowChoice,
  fetchRange,
  findIndexAt,
  findNearestIndex,
  findScaleTop,
  labelText,
  listContinuousSegments,
  type Points,
  scaleFor,
  splitMatrix,
} from "./tracks";

const CATALOG = [
  { id: "cpu.busy_pct", unit: "pct", axis: "cpu", track: { group: "cpu", order: 20, kind: "heatmap" } },
  { id: "cpu.total_busy_pct", unit: "pct", axis: null, track: { group: "cpu", order: 10, kind: "area" } },
  {
    id: "softirq.rate_per_s",
    unit: "per_s",
    axis: "cpu",
    track: { group: "softirq", order: 30, kind: "heatmap" },
  },
  { id: "numa.miss_per_s", unit: "per_s", axis: "node", track: { group: "numa", order: 40, kind: "line" } },
  { id: "disk.util_pct", unit: "pct", axis: null, track: { group: "disk", order: 35, kind: "line" } },
];
const track = (metric: string, labels: Record<string, string> = {}, axis: string | null = null) => ({
  metric,
  labels,
  axis,
});
const points = (t: number[], values: (number | null)[]): Points => ({
  t_ns: t,
  min: values,
  mean: values,
  max: values,
});

describe("rows of the timeline", () => {
  const groups = buildGroups(
    [
      track("unheard.of"),
      track("numa.miss_per_s", {}, "node"),
      track("disk.util_pct", { dev: "sda" }),
      track("disk.util_pct", { dev: "sdb" }),
      track("softirq.rate_per_s", { vector: "TIMER" }, "cpu"),
      track("softirq.rate_per_s", { vector: "NET_RX" }, "cpu"),
      track("cpu.busy_pct", {}, "cpu"),
      track("cpu.total_busy_pct"),
    ],
    CATALOG,
  );

  it("have the order and groups of the catalog, with unknown metrics last", () => {
    expect(groups.map((group) => group.id)).toEqual(["cpu", "softirq", "disk", "numa", "other"]);
    expect(groups[0]?.rows.map((row) => row.key)).toEqual(["cpu.total_busy_pct", "cpu.busy_pct"]);
  });

  it("are one per label set of a matrix, but one per metric for lines", () => {
    expect(groups[1]?.rows.map((row) => row.key)).toEqual([
      "softirq.rate_per_s{vector=NET_RX}",
      "softirq.rate_per_s{vector=TIMER}",
    ]);
    expect(groups[2]?.rows).toHaveLength(1);
    expect(groups[3]?.rows[0]?.kind).toBe("line");
  });

  it("store the user's selection as changes from the defaults", () => {
    const defaults = defaultRows(groups);
    expect(defaults.has("cpu.total_busy_pct")).toBe(true);
    const keys = groups.flatMap((group) => group.rows.map((row) => row.key));
    fc.assert(
      fc.property(fc.subarray(keys), (chosen) => {
        const visible = new Set(chosen);
        expect(applyRowChanges(defaults, diffRowChoice(defaults, visible))).toEqual(visible);
      }),
    );
  });

  it("sort labels by name", () => {
    expect(labelText({ b: "2", a: "1" })).toBe("a=1,b=2");
  });
});

describe("samples", () => {
  it("have the index of the last time not after t", () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.integer({ min: 0, max: 1000 })),
        fc.integer({ min: -5, max: 1005 }),
        (raw, t) => {
          const times = raw.sort((a, b) => a - b);
          expect(findIndexAt(times, t)).toBe(times.filter((x) => x <= t).length - 1);
        },
      ),
    );
  });

  it("are nearest only within the tolerance", () => {
    expect(findNearestIndex([0, 10, 500], 250, 20)).toBe(-1);
    expect(findNearestIndex([0, 10, 500], 12, 20)).toBe(1);
    expect(findNearestIndex([], 12, 20)).toBe(-1);
  });

  it("are split at gaps and missing values", () => {
    const p = points([0, 1, 2, 10, 11, 12], [1, 1, 1, 1, null, 1]);
    expect(listContinuousSegments(p, [[3, 9]], 0, 5)).toEqual([[0, 1, 2], [3], [5]]);
    expect(listContinuousSegments(p, [], 0, 5)).toEqual([[0, 1, 2, 3], [5]]);
  });

  it("are all in a piece", () => {
    const gap = fc.tuple(fc.integer({ min: 0, max: 100 }), fc.integer({ min: 1, max: 9 }));
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.integer({ min: 0, max: 100 }), { minLength: 1 }),
        fc.array(gap),
        (raw, rough) => {
          const times = raw.sort((a, b) => a - b);
          const gaps: [number, number][] = [];
          for (const [from, width] of rough.sort((a, b) => a[0] - b[0]))
            if (from >= (gaps.at(-1)?.[1] ?? -1)) gaps.push([from, from + width]);
          const out = listContinuousSegments(
            points(
              times,
              times.map(() => 1),
            ),
            gaps,
            0,
            times.length - 1,
          );
          expect(out.flat()).toEqual(times.map((_, i) => i));
        },
      ),
    );
  });

  it("have statistics over a range that include zero and exclude null", () => {
    const p = points([0, 10, 20, 30], [0, null, 4, 8]);
    expect(computeStats(p, { from: 0, to: 20 })).toEqual({ n: 2, min: 0, mean: 2, max: 4 });
    expect(computeStats(p, { from: 9, to: 11 })).toBeUndefined();
    const matrix = {
      t_ns: [0, 10],
      values: [
        [1, null],
        [3, 5],
      ],
    };
    expect(computeMatrixStats(matrix, { from: 0, to: 10 })).toEqual({ n: 3, min: 1, mean: 3, max: 5 });
    expect(computeMatrixStats(matrix, { from: 50, to: 60 })).toBeUndefined();
  });

  it("of a matrix are split into a series per axis value", () => {
    const split = splitMatrix({
      metric: "numa.miss_per_s",
      labels: {},
      unit: "per_s",
      axis: "node",
      axis_values: ["0", "1"],
      matrix: {
        t_ns: [0, 10],
        values: [
          [1, 2],
          [3, null],
        ],
      },
      gaps: [],
    });
    expect(split.map((item) => [item.name, item.points.mean])).toEqual([
      ["node0", [1, 3]],
      ["node1", [2, null]],
    ]);
  });
});

describe("scales", () => {
  it("end at a round number above all values", () => {
    fc.assert(
      fc.property(
        fc.double({ min: 1e-6, max: 1e15, noNaN: true }),
        fc.constantFrom("pct", "kb", "per_s", "bytes"),
        (value, unit) => {
          expect(findScaleTop(value, unit)).toBeGreaterThanOrEqual(value * 0.99999);
          expect(findScaleTop(value, unit)).toBeLessThanOrEqual(value * 11 + 1);
        },
      ),
    );
    expect(findScaleTop(62, "pct")).toBe(100);
    expect(findScaleTop(3 * 1024 * 1024, "kb")).toBe(5 * 1024 * 1024);
  });

  it("start at zero unless values are negative", () => {
    const range = { from: 0, to: 10 };
    expect(scaleFor([points([0, 5], [3, 7])], range)).toEqual({ low: 0, high: 10 });
    expect(scaleFor([points([0, 5], [-3, 7])], range).low).toBe(-5);
    expect(scaleFor([], range)).toEqual({ low: 0, high: 1 });
  });
});

describe("fetchRange", () => {
  it("covers the visible range and at least 45 % of it on both sides, at most 6 times its width", () => {
    const view = fc
      .tuple(
        fc.double({ min: 1.6e18, max: 1.9e18, noNaN: true }),
        fc.double({ min: 1e6, max: 3e16, noNaN: true }),
      )
      .map(([from, width]) => ({ from, to: from + width }));
    fc.assert(
      fc.property(view, (v) => {
        const range = fetchRange(v);
        const width = v.to - v.from;
        expect(range.from).toBeLessThanOrEqual(v.from - width * 0.45);
        expect(range.to).toBeGreaterThanOrEqual(v.to + width * 0.45);
        expect(range.to - range.from).toBeLessThanOrEqual(width * 6);
      }),
    );
  });

  it("does not change for a small movement within its cell", () => {
    const view = { from: 2 ** 60 + 2 ** 38, to: 2 ** 60 + 2 ** 38 + 2 ** 39 };
    expect(fetchRange({ from: view.from + 1e9, to: view.to + 1e9 })).toEqual(
      fetchRange({ from: view.from + 2e9, to: view.to + 2e9 }),
    );
  });
});

describe("clusters", () => {
  it("contain each item once, with the minimum distance between clusters", () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0, max: 1000, noNaN: true })),
        fc.integer({ min: 1, max: 50 }),
        (xs, apart) => {
          const out = clusterByPosition(xs, (x) => x, apart);
          expect(out.reduce((n, item) => n + item.things.length, 0)).toBe(xs.length);
          for (let i = 1; i < out.length; i += 1)
            expect((out[i]?.x ?? 0) - (out[i - 1]?.x ?? 0)).toBeGreaterThanOrEqual(apart);
        },
      ),
    );
  });
});
