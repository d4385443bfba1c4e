import { expect, it } from "vitest";
import {
  type DiffHead,
  formatBothSides,
  formatSideWeight,
  formatWeight,
  formatWeightChange,
} from "./difference";

const head = (change: Partial<DiffHead> = {}): DiffHead => ({
  normalize: "share",
  unit: "samples",
  exposure_a: 1000,
  exposure_b: 2000,
  ...change,
});
const plain = (text: string) => text.replaceAll("\u2009", " ");

it("normalizes each side by its own total", () => {
  expect(plain(formatBothSides({ a: 121, b: 804, delta: 0.281 }, head()))).toBe(
    "A 12.1 % → B 40.2 %  ▲ +28.1 %",
  );
  expect(plain(formatBothSides({ a: 500, b: 0, delta: -0.5 }, head({ normalize: "cpu" })))).toBe(
    "A 50.0 % → B 0 %  ▼ −50.0 %",
  );
  expect(plain(formatBothSides({ a: 5, b: 10, delta: 0 }, head()))).toBe("A 0.5 % → B 0.5 %  0 %");
});

it("formats rates per second and per request in the unit of the profile", () => {
  const wall = head({ normalize: "wall", exposure_a: 30, exposure_b: 60 });
  expect(formatBothSides({ a: 60, b: 60, delta: -1 }, wall)).toBe("A 2/s → B 1/s  ▼ −1/s");
  const waits = head({ normalize: "work", unit: "ns", exposure_a: 100, exposure_b: 100 });
  expect(plain(formatSideWeight(250_000_000, "b", waits))).toBe("2.5 ms/req");
  expect(plain(formatWeightChange(1_500_000, waits))).toBe("▲ +1.5 ms/req");
  expect(formatWeight(0, wall)).toBe("0/s");
});

it("does not divide by zero", () => {
  expect(plain(formatSideWeight(5, "a", head({ exposure_a: 0 })))).toBe("0 %");
});
