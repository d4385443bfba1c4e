import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  clampRange,
  formatRange,
  orderRange,
  padRange,
  panRange,
  parseRange,
  type Range,
  spanOf,
  toTime,
  toX,
  zoomRange,
} from "./range";

const LIMIT: Range = { from: 1.7e18, to: 1.7e18 + 1e15 };
const inside = fc
  .tuple(fc.integer({ min: 0, max: 900_000 }), fc.integer({ min: 1, max: 100_000 }))
  .map(([at, width]): Range => ({ from: LIMIT.from + at * 1e9, to: LIMIT.from + (at + width) * 1e9 }));

describe("time ranges", () => {
  it("keep the position of the point under the pointer on zoom", () => {
    fc.assert(
      fc.property(
        inside,
        fc.double({ min: 0.1, max: 0.9, noNaN: true }),
        fc.double({ min: 0.2, max: 0.95, noNaN: true }),
        (range, share, factor) => {
          const at = range.from + spanOf(range) * share;
          const next = zoomRange(range, at, factor, LIMIT);
          expect(Math.abs(toX(at, next, 1000) - share * 1000)).toBeLessThan(1);
        },
      ),
    );
  });

  it("stay within the limit on zoom and pan", () => {
    fc.assert(
      fc.property(
        inside,
        fc.double({ min: -5, max: 5, noNaN: true }),
        fc.double({ min: 0.01, max: 100, noNaN: true }),
        (range, share, factor) => {
          for (const next of [panRange(range, share, LIMIT), zoomRange(range, range.from, factor, LIMIT)]) {
            expect(next.from).toBeGreaterThanOrEqual(LIMIT.from);
            expect(next.to).toBeLessThanOrEqual(LIMIT.to);
            expect(next.to).toBeGreaterThan(next.from);
          }
        },
      ),
    );
  });

  it("keep their width on pan", () => {
    fc.assert(
      fc.property(inside, fc.double({ min: -2, max: 2, noNaN: true }), (range, share) => {
        expect(Math.abs(spanOf(panRange(range, share, LIMIT)) - spanOf(range))).toBeLessThanOrEqual(1024);
      }),
    );
  });

  it("survive formatting and parsing to the microsecond", () => {
    fc.assert(
      fc.property(inside, (range) => {
        const back = parseRange(formatRange(range)) as Range;
        expect(Math.abs(back.from - range.from)).toBeLessThan(1000);
        expect(Math.abs(back.to - range.to)).toBeLessThan(1000);
        expect(formatRange(back)).toBe(formatRange(range));
      }),
    );
  });

  it("are not parsed from malformed text", () => {
    for (const text of [
      undefined,
      "",
      "5",
      "9~5",
      "5~5",
      "a~b",
      "1~2~3",
      "1e9~2e9",
      "99999999999999999999~1",
    ])
      expect(parseRange(text)).toBeUndefined();
  });

  it("convert between pixels and times", () => {
    fc.assert(
      fc.property(inside, fc.integer({ min: 0, max: 2000 }), (range, x) => {
        expect(Math.abs(toX(toTime(x, range, 2000), range, 2000) - x)).toBeLessThan(0.01);
      }),
    );
  });

  it("can be ordered, padded and clamped", () => {
    expect(orderRange(5, 3)).toEqual({ from: 3, to: 5 });
    expect(padRange({ from: 10, to: 20 }, 0.1, 3)).toEqual({ from: 7, to: 23 });
    expect(clampRange({ from: -5, to: 5 }, { from: 0, to: 100 })).toEqual({ from: 0, to: 10 });
    expect(clampRange({ from: -5, to: 500 }, { from: 0, to: 100 })).toEqual({ from: 0, to: 100 });
  });
});
