import { describe, expect, it } from "vitest";
import {
  findTypicalAvailability,
  findTypicalValues,
  listBandSegments,
  type TypicalSpan,
  toTypicalPoints,
} from "./typicalRange";

const span = (over: Partial<TypicalSpan> = {}): TypicalSpan => ({
  run_id: "r",
  artifact_id: "a",
  from_ns: 0,
  to_ns: 30,
  t_ns: [0, 10, 20, 30],
  low: [1, 1, null, 3],
  median: [2, 4, null, 4],
  high: [3, 9, null, 5],
  days: [7, 6, 2, 7],
  failure: null,
  ...over,
});
const failed = span({
  from_ns: 100,
  to_ns: 110,
  t_ns: [],
  low: [],
  median: [],
  high: [],
  days: [],
  failure: { key: "outgoing.unreachable", params: {} },
});

describe("typicalAt", () => {
  it("interpolates between two points, with the smaller number of days", () => {
    expect(findTypicalValues([span()], 5)).toEqual({ low: 1, median: 3, high: 6, days: 6 });
    expect(findTypicalValues([span()], 10)).toEqual({ low: 1, median: 4, high: 9, days: 6 });
  });
  it("returns undefined next to a point without history, outside of the spans, and for a failed span", () => {
    for (const t of [15, 20, 25, -1, 31, 105]) expect(findTypicalValues([span(), failed], t)).toBeUndefined();
    expect(findTypicalValues([], 0)).toBeUndefined();
  });
});

describe("typicalIn", () => {
  it("prefers a band, then too few days, then a failure", () => {
    expect(findTypicalAvailability([span(), failed], { from: 0, to: 200 })).toEqual({
      kind: "band",
      least: 6,
      most: 7,
    });
    const none = span({ median: [null, null, null, null] });
    expect(findTypicalAvailability([none, failed], { from: 0, to: 200 })).toEqual({ kind: "few", most: 7 });
    expect(findTypicalAvailability([span(), failed], { from: 90, to: 200 })).toMatchObject({
      kind: "failed",
    });
    expect(findTypicalAvailability([span()], { from: 90, to: 200 })).toBeUndefined();
  });
});

it("splits a span into stretches with and without a band", () => {
  expect(listBandSegments(span(), true)).toEqual([
    [0, 1],
    [3, 3],
  ]);
  expect(listBandSegments(span(), false)).toEqual([[2, 2]]);
  expect(toTypicalPoints([span(), failed]).mean).toEqual([2, 4, null, 4]);
});
