import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decimals, instant, isoToNs, ticks, timeOfDay } from "./clock";

const T = Date.UTC(2026, 10, 21, 2, 14, 10, 250) * 1e6;

describe("instants", () => {
  it("are written in UTC with as many digits as are asked for", () => {
    expect(instant(T, "utc")).toBe("2026-11-21 02:14:10");
    expect(timeOfDay(T, "utc", 1e6)).toBe("02:14:10.250");
    expect(timeOfDay(T, "utc", 1e8)).toBe("02:14:10.2");
  });

  it("need more digits the finer the step is", () => {
    expect([2e9, 1e9, 1e8, 1e6, 1e3].map(decimals)).toEqual([0, 0, 1, 3, 6]);
  });

  it("come from ISO texts, and only from those", () => {
    expect(isoToNs("2026-11-21T02:14:10.250Z")).toBe(T);
    expect(isoToNs("nonsense")).toBeUndefined();
    expect(isoToNs(null)).toBeUndefined();
  });
});

describe("ticks", () => {
  it("lie inside, ascend, and stand far enough from each other", () => {
    fc.assert(
      fc.property(
        fc.double({ min: 1e5, max: 4e17, noNaN: true }),
        fc.integer({ min: 200, max: 3000 }),
        (width_ns, px) => {
          const out = ticks(T, T + width_ns, px, "utc");
          let before = Number.NEGATIVE_INFINITY;
          for (const tick of out) {
            expect(tick.t).toBeGreaterThanOrEqual(T);
            expect(tick.t).toBeLessThanOrEqual(T + width_ns);
            expect(((tick.t - before) / width_ns) * px).toBeGreaterThan(80);
            before = tick.t;
          }
          expect(out.length).toBeLessThan(px / 80 + 1);
        },
      ),
    );
  });

  it("fall on months when a year is seen", () => {
    const from = Date.UTC(2025, 10, 21) * 1e6;
    const labels = ticks(from, from + 365 * 86400e9, 1200, "utc").map((tick) => tick.label);
    expect(labels).toContain("2026-01");
    expect(labels).toContain("2026-06");
  });

  it("name the day where a new one begins", () => {
    const from = Date.UTC(2026, 10, 20, 20) * 1e6;
    const midnight = ticks(from, from + 8 * 3600e9, 1000, "utc").find((tick) => tick.major);
    expect(midnight?.label).toBe("11-21");
  });

  it("are none for a range that is none", () => {
    expect(ticks(5, 5, 100, "utc")).toEqual([]);
    expect(ticks(0, 1e9, 0, "utc")).toEqual([]);
  });
});
