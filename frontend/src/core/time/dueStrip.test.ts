import { describe, expect, it } from "vitest";
import { midnights, stripSpan, stripX } from "./dueStrip";

const HOUR = 3_600_000;

describe("the strip of a schedule", () => {
  it("gives what is to come a third at least, and shows nothing older than twice that", () => {
    const span = stripSpan([-1000 * HOUR, -HOUR], [10 * HOUR], 0);
    expect(span.from).toBeGreaterThan(-22 * HOUR);
    expect(span.from).toBeLessThanOrEqual(-20 * HOUR);
    expect(Math.round(stripX(0, span, 300) / 10)).toBe(20);
  });

  it("shows all that became of it where nothing is to come", () => {
    const span = stripSpan([-48 * HOUR], [], 0);
    expect(stripX(-48 * HOUR, span, 100)).toBeGreaterThan(0);
    expect(stripX(0, span, 100)).toBeLessThan(100);
  });

  it("has a width even where nothing is known", () => {
    const span = stripSpan([], [], 0);
    expect(span.to).toBeGreaterThan(span.from);
  });

  it("draws no more midnights than fit", () => {
    expect(midnights({ from: 1, to: 72 * HOUR })).toHaveLength(3);
    expect(midnights({ from: 0, to: 400 * 24 * HOUR }, 40).length).toBeLessThanOrEqual(41);
  });
});
