import { describe, expect, it } from "vitest";
import {
  formatBytes,
  formatCompact,
  formatDuration,
  formatNumber,
  formatPercent,
  formatQuantity,
} from "./format";

const plain = (text: string) => text.replace(/\u2009/g, " ");

describe("numbers", () => {
  it.each([
    [0, "0"],
    [0.0001, "< 0.001"],
    [0.05, "0.05"],
    [1.234, "1.23"],
    [12.34, "12.3"],
    [123.4, "123"],
    [1234567, "1,234,567"],
    [-3.5, "-3.5"],
    [Number.NaN, "–"],
    [Number.POSITIVE_INFINITY, "–"],
  ])("%d is written %s", (value, text) => expect(formatNumber(value)).toBe(text));

  it.each([
    [999, "999"],
    [9999, "9,999"],
    [12345, "12.3 k"],
    [2_500_000, "2.5 M"],
  ])("%d is short as %s", (value, text) => expect(plain(formatCompact(value))).toBe(text));

  it.each([
    [0, "0 s"],
    [850, "850 ns"],
    [44_100, "44.1 µs"],
    [44_100_000, "44.1 ms"],
    [1.5e9, "1.5 s"],
    [119e9, "119 s"],
    [150e9, "2 min 30 s"],
    [7200e9, "2 h"],
    [3 * 86400e9, "3 d"],
  ])("%d ns last %s", (value, text) => expect(plain(formatDuration(value))).toBe(text));

  it.each([
    [0, "0 B"],
    [1023, "1,023 B"],
    [1024, "1 KiB"],
    [1500, "1,500 B"],
    [10_240, "10 KiB"],
    [12_345, "12.1 KiB"],
    [1536 * 1024, "1.5 MiB"],
    [2 ** 40, "1 TiB"],
  ])("%d bytes are %s", (value, text) => expect(plain(formatBytes(value))).toBe(text));

  it.each([
    [0, "0 %"],
    [0.0004, "< 0.1 %"],
    [0.123, "12.3 %"],
    [1, "100 %"],
  ])("a share of %d is %s", (value, text) => expect(plain(formatPercent(value))).toBe(text));

  it("have units of the catalog, and keep unknown units", () => {
    expect(plain(formatQuantity(41.23, "pct"))).toBe("41.2 %");
    expect(plain(formatQuantity(2048, "kb"))).toBe("2 MiB");
    expect(plain(formatQuantity(3.5, "ms"))).toBe("3.5 ms");
    expect(plain(formatQuantity(63_000, "per_s"))).toBe("63 k/s");
    expect(plain(formatQuantity(5, "furlongs_per_s"))).toBe("5 furlongs/s");
    expect(plain(formatQuantity(2400, "mhz"))).toBe("2.4 GHz");
    expect(plain(formatQuantity(800, "mhz"))).toBe("800 MHz");
    expect(plain(formatQuantity(1, "bool"))).toBe("1");
    expect(formatQuantity(null, "ms")).toBe("–");
  });
});
