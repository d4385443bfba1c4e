import fc from "fast-check";
import { expect, it } from "vitest";
import { findPeakCount, type Heat, heatRange, snapBrush, toColorStrength } from "./heat";

const heat: Heat = {
  t0Ns: 1e9,
  colNs: 1e8,
  rows: 2,
  counts: [
    [0, 1, 5],
    [2, 0, 9],
  ],
};

it("returns the time range of all columns", () => {
  expect(heatRange(heat)).toEqual({ from: 1e9, to: 1.3e9 });
  expect(findPeakCount(heat)).toBe(9);
  expect(findPeakCount({ ...heat, counts: [[0], [0]] })).toBe(1);
});

it("distinguishes one sample from none", () => {
  expect(toColorStrength(0, 9)).toBe(0);
  expect(toColorStrength(1, 1e6)).toBeGreaterThan(0.1);
  expect(toColorStrength(9, 9)).toBe(1);
});

it("returns a nonempty brush inside of the heat map, for both drag directions", () => {
  fc.assert(
    fc.property(
      fc.double({ min: -1, max: 2, noNaN: true }),
      fc.double({ min: -1, max: 2, noNaN: true }),
      (a, b) => {
        const range = snapBrush(heat, a, b);
        expect(range).toEqual(snapBrush(heat, b, a));
        expect(range.to).toBeGreaterThanOrEqual(range.from);
        expect(range.from).toBeGreaterThanOrEqual(1e9);
        expect(range.to).toBeLessThanOrEqual(1.3e9);
      },
    ),
  );
});
