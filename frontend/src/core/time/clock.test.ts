import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  countDecimals,
  createTimeTicks,
  formatFieldTime,
  formatInstant,
  formatTimeOfDay,
  isoToNs,
  parseFieldTime,
} from "./clock";

const T = Date.UTC(2026, 10, 21, 2, 14, 10, 250) * 1e6;

describe("times", () => {
  it("are formatted in UTC with the decimals of the step", () => {
    expect(formatInstant(T, "utc")).toBe("2026-11-21 02:14:10");
    expect(formatTimeOfDay(T, "utc", 1e6)).toBe("02:14:10.250");
    expect(formatTimeOfDay(T, "utc", 1e8)).toBe("02:14:10.2");
  });

  it("have more decimals for smaller steps", () => {
    expect([2e9, 1e9, 1e8, 1e6, 1e3].map(countDecimals)).toEqual([0, 0, 1, 3, 6]);
  });

  it("are parsed only from ISO 8601", () => {
    expect(isoToNs("2026-11-21T02:14:10.250Z")).toBe(T);
    expect(isoToNs("nonsense")).toBeUndefined();
    expect(isoToNs(null)).toBeUndefined();
  });
});

describe("typed times", () => {
  it("are parsed as 24-hour times, with or without seconds and date", () => {
    expect(parseFieldTime("2026-11-21 02:14", "utc")).toBe("2026-11-21T02:14:00.000Z");
    expect(parseFieldTime(" 2026-11-21T23:14:10 ", "utc")).toBe("2026-11-21T23:14:10.000Z");
    expect(parseFieldTime("9:05", "utc", T / 1e6)).toBe("2026-11-21T09:05:00.000Z");
  });

  it("are rejected if the time does not exist", () => {
    for (const text of ["", "now", "2026-02-31 10:00", "2026-11-21 24:00", "2026-11-21 10:60", "2026-11-21"])
      expect(parseFieldTime(text, "utc"), text).toBe("");
  });

  it("survive formatting and parsing", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 4e9 }),
        fc.constantFrom("utc" as const, "local" as const),
        (s, zone) => {
          // A local time that occurs twice at the end of daylight saving time can be parsed as either.
          const read = Date.parse(parseFieldTime(formatFieldTime(s * 1e9, zone), zone)) / 1e3;
          expect(Math.abs(read - s) % 3600).toBe(0);
        },
      ),
    );
  });
});

describe("ticks", () => {
  it("are inside of the range, ascending, and more than 80 px apart", () => {
    fc.assert(
      fc.property(
        fc.double({ min: 1e5, max: 4e17, noNaN: true }),
        fc.integer({ min: 200, max: 3000 }),
        (width_ns, px) => {
          const out = createTimeTicks(T, T + width_ns, px, "utc");
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

  it("are at months for a range of a year", () => {
    const from = Date.UTC(2025, 10, 21) * 1e6;
    const labels = createTimeTicks(from, from + 365 * 86400e9, 1200, "utc").map((tick) => tick.label);
    expect(labels).toContain("2026-01");
    expect(labels).toContain("2026-06");
  });

  it("have the date as label at midnight", () => {
    const from = Date.UTC(2026, 10, 20, 20) * 1e6;
    const midnight = createTimeTicks(from, from + 8 * 3600e9, 1000, "utc").find((tick) => tick.major);
    expect(midnight?.label).toBe("11-21");
  });

  it("are empty for an empty range or zero width", () => {
    expect(createTimeTicks(5, 5, 100, "utc")).toEqual([]);
    expect(createTimeTicks(0, 1e9, 0, "utc")).toEqual([]);
  });
});
