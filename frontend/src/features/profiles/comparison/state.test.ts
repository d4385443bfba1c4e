import { expect, it } from "vitest";
import { requestsOf, toParams } from "./state";

const state = { by: "work", wa: "", wb: "", swap: false } as const;

it("prefers what was entered over what access logs counted", () => {
  expect(toParams({ ...state, wa: "5" }, { a: 7, b: 9.5 })).toEqual({
    normalize: "work",
    work_a: 5,
    work_b: 9.5,
    swap: undefined,
  });
});

it("asks for nothing until both sides have requests", () => {
  expect(toParams(state, undefined)).toBeUndefined();
  expect(toParams({ ...state, wa: "5" }, { a: null, b: null })).toBeUndefined();
  for (const text of ["0", "-3", "x", "1e999"]) expect(requestsOf(text, null)).toBeUndefined();
});

it("leaves requests out of what is divided by something else", () => {
  expect(toParams({ ...state, by: "wall", wa: "5", wb: "6", swap: true }, undefined)).toEqual({
    normalize: "wall",
    swap: true,
  });
});
