import { describe, expect, it } from "vitest";
import { treeWidth } from "./treeWidth";

const WINDOWS = Array.from({ length: 400 }, (_, at) => 320 + at * 13);

describe("treeWidth", () => {
  it("requests the stored tree in windows of up to 1920 px", () => {
    expect([320, 1280, 1440, 1920].map(treeWidth)).toEqual([1200, 1200, 1200, 1200]);
    expect(treeWidth(1921)).toBe(1500);
  });

  it("keeps each frame of one pixel in the answer", () => {
    // The server omits frames below half a pixel of the requested width.
    for (const width of WINDOWS) expect(treeWidth(width) / width).toBeGreaterThanOrEqual(0.5);
  });

  it("changes rarely while a window is resized", () => {
    expect(new Set(WINDOWS.map(treeWidth)).size).toBeLessThan(12);
  });
});
