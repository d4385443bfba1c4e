import { describe, expect, it } from "vitest";
import { computeStripSpan, listMidnights, stripX } from "./dueStrip";

const HOUR = 3_600_000;

describe("axis of due times", () => {
  it("has upcoming times in at least a third, and past times up to twice as long", () => {
    const span = computeStripSpan([-1000 * HOUR, -HOUR], [10 * HOUR], 0);
    expect(span.from).toBeGreaterThan(-22 * HOUR);
    expect(span.from).toBeLessThanOrEqual(-20 * HOUR);
    expect(Math.round(stripX(0, span, 300) / 10)).toBe(20);
  });

  it("includes all past times without upcoming times", () => {
    const span = computeStripSpan([-48 * HOUR], [], 0);
    expect(stripX(-48 * HOUR, span, 100)).toBeGreaterThan(0);
    expect(stripX(0, span, 100)).toBeLessThan(100);
  });

  it("is not empty without any times", () => {
    const span = computeStripSpan([], [], 0);
    expect(span.to).toBeGreaterThan(span.from);
  });

  it("limits the number of midnights", () => {
    expect(listMidnights({ from: 1, to: 72 * HOUR })).toHaveLength(3);
    expect(listMidnights({ from: 0, to: 400 * 24 * HOUR }, 40).length).toBeLessThanOrEqual(41);
  });
});
