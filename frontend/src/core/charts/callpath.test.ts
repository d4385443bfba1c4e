import { describe, expect, it } from "vitest";
import {
  BOX_HEIGHT,
  buildCallCurves,
  columnHeight,
  curvePath,
  formatTrail,
  parseTrail,
  processesOf,
  splitUrl,
} from "./callpath";

const call = (key: string, waiting: number | null, connections: number | null = 1) => ({
  key,
  waiting,
  connections,
});

describe("trail in the URL", () => {
  it("survives formatting and parsing", () => {
    const hops = [
      { run: "0190-a", pid: 12 },
      { run: "0190-b", pid: undefined },
    ];
    expect(formatTrail(hops)).toBe("0190-a.12,0190-b");
    expect(parseTrail(formatTrail(hops))).toEqual(hops);
  });

  it("ignores malformed hops, and is limited to 12 hops", () => {
    expect(parseTrail(undefined)).toEqual([]);
    expect(parseTrail("a.b.c,../x,,ok.7")).toEqual([{ run: "ok", pid: 7 }]);
    expect(parseTrail(Array.from({ length: 40 }, (_, i) => `r${i}`).join(","))).toHaveLength(12);
  });
});

describe("segmentsOf", () => {
  it("splits a URL into path and query parameters", () => {
    expect(splitUrl("/runs/1/calls?pid=4&t=1~2")).toEqual({
      path: "/runs/1/calls",
      search: { pid: "4", t: "1~2" },
    });
    expect(splitUrl("/hosts/1")).toEqual({ path: "/hosts/1", search: {} });
  });
});

describe("buildStrands", () => {
  it("sets the width to the share of the response time", () => {
    const height = columnHeight(2);
    const [first, second] = buildCallCurves(
      [call("a", 4), call("b", 1)],
      [
        { call: "a", share: 0.8 },
        { call: "b", share: 0.1 },
      ],
      "out",
      height,
    );
    expect(first?.share).toBe(0.8);
    expect(first?.width).toBeGreaterThan(second?.width ?? 0);
    expect(first?.to).toBe(BOX_HEIGHT / 2);
    expect(Math.abs((first?.from ?? 0) - height / 2)).toBeLessThan(10);
  });

  it("falls back to connections, with a minimum width", () => {
    const curves = buildCallCurves([call("a", null, 9), call("b", null, null)], [], "in", columnHeight(2));
    expect(curves.map((curve) => curve.share)).toEqual([undefined, undefined]);
    expect(curves[1]?.width).toBeGreaterThan(0);
    expect(curves[0]?.from).toBe(BOX_HEIGHT / 2);
    expect(curvePath({ from: 1, to: 2 })).toBe("M0 1 C50 1 50 2 100 2");
  });
});

it("lists each process once, those with waiting connections first", () => {
  expect(
    processesOf([
      { comm: "idle", pids: [1], waiting: null },
      { comm: "app", pids: [2, 3], waiting: 4 },
      { comm: "app", pids: [3], waiting: 0 },
    ]),
  ).toEqual([
    { pid: 2, comm: "app" },
    { pid: 3, comm: "app" },
    { pid: 1, comm: "idle" },
  ]);
});
