import { describe, expect, it } from "vitest";
import {
  createScale,
  exceedanceRatio,
  fillSummary,
  groupBy,
  hasThreshold,
  parseMeasure,
  sortBySeverity,
  toFigures,
} from "./figures";

const finding = (unit: string, value: number, detail: Record<string, unknown> = {}) => ({
  rule: "F-X",
  subject: { dev: "sda" },
  detail,
  numbers: [
    { measure: "m", value, unit, op: ">", threshold: 5, baseline: null, sample_count: 8, citations: [] },
  ],
});

describe("describeMeasure", () => {
  it("omits the unit if the text after the number names it", () => {
    expect(fillSummary("{value} connections a second", finding("per_s", 1586.13))).toBe(
      "1,586 connections a second",
    );
    expect(fillSummary("waits {value} ms, over {threshold} ms", finding("ms", 44.1))).toBe(
      "waits 44.1 ms, over 5 ms",
    );
    expect(fillSummary("每次等待 {value} 毫秒", finding("ms", 44.1))).toBe("每次等待 44.1 毫秒");
  });

  it("appends the unit if the text does not name it", () => {
    expect(fillSummary("holds {value} of memory", finding("bytes", 2 ** 31))).toBe(
      "holds 2\u2009GiB of memory",
    );
  });

  it("fills in subject and details, and keeps unknown placeholders", () => {
    expect(fillSummary("{dev}: {tasks} by {who}", finding("count", 1, { tasks: 12911 }))).toBe(
      "sda: 12,911 by {who}",
    );
  });
});

describe("numbers of a finding", () => {
  it("have their own subject or that of the finding, with or without a threshold", () => {
    const { numbers, ...rest } = finding("ms", 7);
    const related = { ...numbers[0]!, op: null, threshold: null, subject: {} };
    const [own, other] = toFigures({ ...rest, numbers: [...numbers, related] });
    expect([own?.subject, other?.subject]).toEqual([{ dev: "sda" }, {}]);
    expect([own, other].map((figure) => figure && hasThreshold(figure))).toEqual([true, false]);
    expect(fillSummary("over {threshold} ms", { ...rest, numbers: [related] })).toBe("over – ms");
  });
});

describe("measureParts", () => {
  it("splits a measure into metric, labels, axis value and aggregation", () => {
    expect(parseMeasure("disk.await_ms{dev=sda}[7].held")).toEqual({
      metric: "disk.await_ms",
      labels: "dev=sda",
      axis: "7",
      how: "held",
    });
    expect(parseMeasure("tcp.listen_overflows_per_s.mean").metric).toBe("tcp.listen_overflows_per_s");
  });

  it("does not split a derived measure", () => {
    expect(parseMeasure("sched.delay_per_switch")).toMatchObject({
      metric: "sched.delay_per_switch",
      how: undefined,
    });
  });
});

describe("scale of a number", () => {
  it("is logarithmic for a distant threshold, and linear for a near threshold", () => {
    const far = createScale([1586, 5]);
    expect(far.log).toBe(true);
    expect(far.at(1586)).toBeGreaterThan(far.at(5));
    expect(far.at(5)).toBeGreaterThan(0.05);
    const near = createScale([44, 30]);
    expect(near.log).toBe(false);
    expect(near.at(44) / near.at(30)).toBeCloseTo(44 / 30);
  });

  it("ends at 100 for percentages, and has zero at 0", () => {
    expect(createScale([40, 20], true).at(40)).toBeCloseTo(0.4);
    expect(createScale([0, 0]).at(0)).toBe(0);
  });

  it("has a ratio to the threshold in the direction of the comparison", () => {
    expect(exceedanceRatio(50, 5, ">")).toBe(10);
    expect(exceedanceRatio(1, 4, "<")).toBe(4);
    expect(exceedanceRatio(3, 0, ">")).toBeUndefined();
    expect(exceedanceRatio(3, 4, ">")).toBeUndefined();
  });
});

describe("lists of findings", () => {
  it("are sorted by severity, then by strength", () => {
    const findings = [
      { severity: "warn", strength: "direct" },
      { severity: "critical", strength: "correlational" },
      { severity: "critical", strength: "direct" },
    ] as const;
    expect(sortBySeverity(findings).map((item) => `${item.severity} ${item.strength}`)).toEqual([
      "critical direct",
      "critical correlational",
      "warn direct",
    ]);
  });

  it("are grouped by key, largest group first", () => {
    expect(groupBy(["a1", "b1", "b2"], (item) => item[0] ?? "")).toEqual([
      ["b", ["b1", "b2"]],
      ["a", ["a1"]],
    ]);
  });
});
