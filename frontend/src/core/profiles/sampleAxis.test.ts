import { describe, expect, it } from "vitest";
import type { FlameNode } from "./flame";
import { dropOverlaps, findWeightAt, listSampleTimes, listWeightTicks } from "./sampleAxis";

const box = (
  start: number,
  value: number,
  first: number,
  last: number,
  children: FlameNode[] = [],
): FlameNode => ({
  id: `${start}-${value}-${first}`,
  name: "f",
  kind: "user",
  self: 0,
  value,
  start,
  first_ns: first,
  last_ns: last,
  children,
});

describe("listWeightTicks", () => {
  it("has whole samples, and at most as many ticks as there is room", () => {
    expect(listWeightTicks(3, 8, "samples")).toEqual([0, 1, 2, 3]);
    expect(listWeightTicks(309, 6, "samples")).toEqual([0, 100, 200, 300]);
    expect(listWeightTicks(1, 8, "count")).toEqual([0, 1]);
  });

  it("has round durations, and powers of two for bytes", () => {
    expect(listWeightTicks(45e6, 5, "ns")).toEqual([0, 10e6, 20e6, 30e6, 40e6]);
    expect(listWeightTicks(1.5 * 2 ** 20, 6, "bytes")).toEqual([0, 1, 2, 3, 4, 5, 6].map((n) => n * 2 ** 18));
  });

  it("never has a tick beyond the total", () => {
    for (const total of [0, 1, 2, 7, 99, 100, 101, 123_456, 2 ** 40])
      for (const count of [1, 4, 12])
        for (const unit of ["samples", "bytes", "ns"] as const) {
          const ticks = listWeightTicks(total, count, unit);
          expect(ticks[0]).toBe(0);
          expect(Math.max(...ticks)).toBeLessThanOrEqual(total);
          expect(ticks.length).toBeLessThanOrEqual(count + 2);
        }
  });
});

describe("findWeightAt", () => {
  // Ten samples in a second, a pause of eight seconds, and ten samples in a second.
  const times = listSampleTimes(box(0, 20, 0, 10e9, [box(0, 10, 0, 1e9), box(10, 10, 9e9, 10e9)]));

  it("places times of a pause at the edge between the boxes around it", () => {
    for (const ns of [1.5e9, 5e9, 8.9e9]) expect(findWeightAt(times, ns)).toBe(10);
  });

  it("places times within a box between its first and its last sample", () => {
    expect(findWeightAt(times, 0.5e9)).toBe(5);
    expect(findWeightAt(times, 9.5e9)).toBe(15);
  });

  it("stays within the samples", () => {
    expect(findWeightAt(times, -5)).toBe(0);
    expect(findWeightAt(times, 99e9)).toBe(20);
    expect(findWeightAt([], 5)).toBe(0);
  });

  it("knows no times of trees without times", () => {
    expect(listSampleTimes({ id: 0, name: "all", kind: "root", value: 5, self: 5 })).toEqual([]);
  });
});

it("keeps the tick of a label without room, but not its text", () => {
  const labels = [0, 20, 60, 92].map((x) => ({ x, text: "abc" }));
  expect(dropOverlaps(labels, 100, 5).map(({ text }) => text)).toEqual(["abc", "", "abc", ""]);
});
