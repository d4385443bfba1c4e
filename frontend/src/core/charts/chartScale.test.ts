import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  logScale,
  measureTextWidth,
  roundTicks,
  shortenHost,
  shortenMiddle,
  shortenText,
  ticksWithin,
  toCountHeight,
} from "./chartScale";

describe("shortenText", () => {
  it("shortens with an ellipsis and counts Chinese characters twice", () => {
    expect(shortenText("0.0.0.0:8081 python", 9)).toBe("0.0.0.0:…");
    expect(shortenText("short", 9)).toBe("short");
    expect(shortenText("监听套接字的队列", 9)).toBe("监听套接…");
    expect(measureTextWidth("a队")).toBe(3);
    expect(shortenText("anything", 0)).toBe("…");
  });
});

describe("roundTicks", () => {
  it("returns ticks from zero to at least the maximum", () => {
    expect(roundTicks(1708, 4)).toEqual([0, 500, 1000, 1500, 2000]);
    expect(roundTicks(0, 4)).toEqual([0]);
    expect(roundTicks(Number.NaN, 4)).toEqual([0]);
  });
  it("returns at most 6 ticks for any maximum", () => {
    fc.assert(
      fc.property(fc.double({ min: 1e-6, max: 1e12, noNaN: true }), (most) => {
        const ticks = roundTicks(most, 4);
        expect(ticks.at(-1)).toBeGreaterThanOrEqual(most * (1 - 1e-6));
        expect(ticks.length).toBeLessThanOrEqual(6);
      }),
    );
  });
});

describe("ticksWithin", () => {
  it("returns round ticks with as many digits as the step needs", () => {
    expect(ticksWithin(0, 2000, 4).map((item) => item.text)).toEqual([
      "0 ms",
      "500 ms",
      "1000 ms",
      "1500 ms",
      "2000 ms",
    ]);
    expect(ticksWithin(1234, 1234.8, 4).map((item) => item.text)).toEqual([
      "1234.0 ms",
      "1234.2 ms",
      "1234.4 ms",
      "1234.6 ms",
      "1234.8 ms",
    ]);
    expect(ticksWithin(0, 60_000, 4).map((item) => item.text)).toEqual(["0 s", "20 s", "40 s", "60 s"]);
    expect(ticksWithin(5, 5, 4)).toHaveLength(1);
  });
});

describe("logarithmic scales", () => {
  it("has a tick at each power of ten", () => {
    const { at, ticks } = logScale(0.1, 1000);
    expect(ticks.map((tick) => Math.round(tick * 10) / 10)).toEqual([0.1, 1, 10, 100, 1000]);
    expect(at(10)).toBeCloseTo(0.5);
    expect([at(0), at(1e9)]).toEqual([0, 1]);
  });
  it("has a visible height for 1 of thousands", () => {
    expect(toCountHeight(1, 10_000)).toBeGreaterThan(0.05);
    expect([toCountHeight(0, 5), toCountHeight(5, 5)]).toEqual([0, 1]);
  });
});

describe("long names", () => {
  it("keep their end, where they differ", () => {
    expect(shortenMiddle("payments-worker-17", 18)).toBe("payments-worker-17");
    expect(shortenMiddle("payments-worker-17", 9)).toBe("paym…r-17");
  });
  it("of hosts lose their domain first", () => {
    expect(shortenHost("payments-worker-17.eu.example.com", 20)).toBe("payments-worker-17");
    expect(shortenHost("payments-settlement-worker-17.eu.example.com", 20)).toBe("payments-…-worker-17");
    expect(shortenHost("10.0.0.1", 20)).toBe("10.0.0.1");
  });
});
