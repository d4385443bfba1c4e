import { expect, it } from "vitest";
import { byteTicks, listLastDays, parseSize } from "./storage";

it("parses sizes with a binary unit", () => {
  expect(parseSize("50 GiB")).toBe(50 * 1024 ** 3);
  expect(parseSize("1.5tib")).toBe(1.5 * 1024 ** 4);
  expect(parseSize("1000")).toBe(1000);
  for (const text of ["", "GiB", "-1 GiB", "5 GB x", "1e9"]) expect(parseSize(text)).toBeUndefined();
});

it("lists days across the end of a month", () => {
  expect(listLastDays(new Date("2026-03-01T23:59:00Z"), 3)).toEqual([
    "2026-02-27",
    "2026-02-28",
    "2026-03-01",
  ]);
});

it("returns ticks that are round in their unit", () => {
  expect(byteTicks(830 * 1024 ** 2, 3).map((tick) => tick / 1024 ** 2)).toEqual([0, 500, 1000]);
  expect(byteTicks(1, 3)[0]).toBe(0);
});
