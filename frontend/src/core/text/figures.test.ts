import { describe, expect, it } from "vitest";
import {
  bySeverity,
  figuresOf,
  groupedBy,
  measureParts,
  saying,
  scaleOf,
  timesBeyond,
  wasCompared,
} from "./figures";

const finding = (unit: string, value: number, detail: Record<string, unknown> = {}) => ({
  rule: "F-X",
  subject: { dev: "sda" },
  detail,
  numbers: [{ measure: "m", value, unit, op: ">", threshold: 5, baseline: null, n: 8, citations: [] }],
});

describe("what a rule says", () => {
  it("writes the number alone where the words name its unit", () => {
    expect(saying("{value} connections a second", finding("per_s", 1586.13))).toBe(
      "1,586 connections a second",
    );
    expect(saying("waits {value} ms, over {threshold} ms", finding("ms", 44.1))).toBe(
      "waits 44.1 ms, over 5 ms",
    );
    expect(saying("每次等待 {value} 毫秒", finding("ms", 44.1))).toBe("每次等待 44.1 毫秒");
  });

  it("writes the unit where the words do not", () => {
    expect(saying("holds {value} of memory", finding("bytes", 2 ** 31))).toBe("holds 2\u2009GiB of memory");
  });

  it("takes the subject and the details, and leaves a place that nobody fills", () => {
    expect(saying("{dev}: {tasks} by {who}", finding("count", 1, { tasks: 12911 }))).toBe(
      "sda: 12,911 by {who}",
    );
  });
});

describe("the numbers of a finding", () => {
  it("are of its subject, or of what they say themselves, and were compared or not", () => {
    const { numbers, ...rest } = finding("ms", 7);
    const beside = { ...numbers[0]!, op: null, threshold: null, subject: {} };
    const [own, told] = figuresOf({ ...rest, numbers: [...numbers, beside] });
    expect([own?.subject, told?.subject]).toEqual([{ dev: "sda" }, {}]);
    expect([own, told].map((one) => one && wasCompared(one))).toEqual([true, false]);
    expect(saying("over {threshold} ms", { ...rest, numbers: [beside] })).toBe("over – ms");
  });
});

describe("a measure", () => {
  it("is taken apart", () => {
    expect(measureParts("disk.await_ms{dev=sda}[7].held")).toEqual({
      metric: "disk.await_ms",
      labels: "dev=sda",
      axis: "7",
      how: "held",
    });
    expect(measureParts("tcp.listen_overflows_per_s.mean").metric).toBe("tcp.listen_overflows_per_s");
  });

  it("that is no plain metric stays whole", () => {
    expect(measureParts("sched.delay_per_switch")).toMatchObject({
      metric: "sched.delay_per_switch",
      how: undefined,
    });
  });
});

describe("the bar of a number", () => {
  it("is logarithmic where the threshold is far away, and linear where it is near", () => {
    const far = scaleOf([1586, 5]);
    expect(far.log).toBe(true);
    expect(far.at(1586)).toBeGreaterThan(far.at(5));
    expect(far.at(5)).toBeGreaterThan(0.05);
    const near = scaleOf([44, 30]);
    expect(near.log).toBe(false);
    expect(near.at(44) / near.at(30)).toBeCloseTo(44 / 30);
  });

  it("shows shares of a hundred on a hundred, and nothing as nothing", () => {
    expect(scaleOf([40, 20], true).at(40)).toBeCloseTo(0.4);
    expect(scaleOf([0, 0]).at(0)).toBe(0);
  });

  it("says how far beyond, in the direction that the rule looks", () => {
    expect(timesBeyond(50, 5, ">")).toBe(10);
    expect(timesBeyond(1, 4, "<")).toBe(4);
    expect(timesBeyond(3, 0, ">")).toBeUndefined();
    expect(timesBeyond(3, 4, ">")).toBeUndefined();
  });
});

describe("lists of findings", () => {
  it("have the gravest and best proven first", () => {
    const found = [
      { severity: "warn", grade: "direct" },
      { severity: "critical", grade: "correlational" },
      { severity: "critical", grade: "direct" },
    ] as const;
    expect(bySeverity(found).map((one) => `${one.severity} ${one.grade}`)).toEqual([
      "critical direct",
      "critical correlational",
      "warn direct",
    ]);
  });

  it("put together what lacks the same thing, the most first", () => {
    expect(groupedBy(["a1", "b1", "b2"], (one) => one[0] ?? "")).toEqual([
      ["b", ["b1", "b2"]],
      ["a", ["a1"]],
    ]);
  });
});
