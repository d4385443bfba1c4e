import { beforeEach, describe, expect, it, vi } from "vitest";
import { reloadOnMissingChunk } from "./reloadOnMissingChunk";

describe("reloadOnMissingPart", () => {
  beforeEach(() => sessionStorage.clear());

  it("reloads at most once a minute, and does not handle further errors", () => {
    const reload = vi.fn();
    reloadOnMissingChunk(reload);
    const first = new Event("vite:preloadError", { cancelable: true });
    window.dispatchEvent(first);
    const second = new Event("vite:preloadError", { cancelable: true });
    window.dispatchEvent(second);
    expect(reload).toHaveBeenCalledTimes(1);
    expect(first.defaultPrevented).toBe(true);
    expect(second.defaultPrevented).toBe(false);
  });
});
