import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decimals, fieldTime, instant, isoToNs, readFieldTime, ticks, timeOfDay } from "./clock";

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

describe("typed times", () => {
  it("are read in 24 hours, with or without seconds and date", () => {
    expect(readFieldTime("2026-11-21 02:14", "utc")).toBe("2026-11-21T02:14:00.000Z");
    expect(readFieldTime(" 2026-11-21T23:14:10 ", "utc")).toBe("2026-11-21T23:14:10.000Z");
    expect(readFieldTime("9:05", "utc", T / 1e6)).toBe("2026-11-21T09:05:00.000Z");
  });

  it("are refused where no such instant exists", () => {
    for (const text of ["", "now", "2026-02-31 10:00", "2026-11-21 24:00", "2026-11-21 10:60", "2026-11-21"])
      expect(readFieldTime(text, "utc"), text).toBe("");
  });

  it("are those that were written", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 4e9 }),
        fc.constantFrom("utc" as const, "local" as const),
        (s, zone) => {
          // An hour that a change of the clock repeats is read as one of the two.
          const read = Date.parse(readFieldTime(fieldTime(s * 1e9, zone), zone)) / 1e3;
          expect(Math.abs(read - s) % 3600).toBe(0);
        },
      ),
    );
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
