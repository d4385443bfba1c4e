import { expect, it } from "vitest";
import { chooseRequestCount, toParams } from "./state";

const state = { by: "work", wa: "", wb: "", swap: false } as const;

it("prefers entered request counts over those of access logs", () => {
  expect(toParams({ ...state, wa: "5" }, { a: 7, b: 9.5 })).toEqual({
    normalize: "work",
    work_a: 5,
    work_b: 9.5,
    swap: undefined,
  });
});

it("returns no parameters until both sides have request counts", () => {
  expect(toParams(state, undefined)).toBeUndefined();
  expect(toParams({ ...state, wa: "5" }, { a: null, b: null })).toBeUndefined();
  for (const text of ["0", "-3", "x", "1e999"]) expect(chooseRequestCount(text, null)).toBeUndefined();
});

it("omits request counts for other normalizations", () => {
  expect(toParams({ ...state, by: "wall", wa: "5", wb: "6", swap: true }, undefined)).toEqual({
    normalize: "wall",
    swap: true,
  });
});
