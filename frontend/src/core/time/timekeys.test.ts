import { describe, expect, it } from "vitest";
import { findTimeAction } from "./timekeys";

const key = (name: string, over: object = {}) =>
  findTimeAction({ key: name, shiftKey: false, ctrlKey: false, metaKey: false, altKey: false, ...over });

describe("keys of the timeline", () => {
  it("zoom and pan, faster with Shift", () => {
    expect(key("w")).toMatchObject({ act: "zoom" });
    const [slow, fast] = [key("d"), key("D", { shiftKey: true })] as { share: number }[];
    expect(fast?.share).toBeGreaterThan(slow?.share ?? 0);
    expect(key("ArrowLeft")).toMatchObject({ act: "pan" });
  });

  it("exclude browser shortcuts", () => {
    expect(key("w", { ctrlKey: true })).toBeUndefined();
    expect(key("d", { metaKey: true })).toBeUndefined();
    expect(key("ArrowLeft", { altKey: true })).toBeUndefined();
    expect(key("q")).toBeUndefined();
  });

  it("mark the brush, or with Shift the baseline", () => {
    expect(key("b")).toEqual({ act: "markBrush" });
    expect(key("B", { shiftKey: true })).toEqual({ act: "markBaseline" });
  });
});
