import { describe, expect, it } from "vitest";
import type { CaptureBlock } from "./api";
import { chooseInitialView } from "./useTimeView";

const S = 1e9;
const LIMIT = { from: 0, to: 5000 * S };

const block = (id: string, from_s: number, to_s: number): CaptureBlock => ({
  run_id: id,
  capture_id: id,
  number: 1,
  plan: "custom",
  state: "done",
  collectors: 1,
  look_back_ns: null,
  from_ns: from_s * S,
  to_ns: to_s * S,
  uncertainty_ns: 0,
});

/** Return which of the blocks are wholly within the initial view. */
const listVisible = (runs: readonly CaptureBlock[]) => {
  const view = chooseInitialView(runs, LIMIT);
  return runs.filter((run) => run.from_ns >= view.from && run.to_ns <= view.to).map((run) => run.run_id);
};

describe("chooseInitialView", () => {
  it("contains all stages of a diagnosis, in any order of the runs", () => {
    const stages = [block("third", 1030, 1032), block("first", 1000, 1008), block("second", 1012, 1020)];
    expect(listVisible(stages)).toEqual(["third", "first", "second"]);
  });

  it("leaves out a capture that ended more than a minute before, and those before it", () => {
    expect(listVisible([block("old", 800, 810), block("last", 1000, 1008)])).toEqual(["last"]);
  });

  it("is no longer than ten minutes for captures that follow each other", () => {
    const runs = Array.from({ length: 40 }, (_, i) => block(String(i), 1000 + i * 30, 1020 + i * 30));
    const view = chooseInitialView(runs, LIMIT);
    expect(view.to).toBeGreaterThan(2190 * S);
    expect(view.to - view.from).toBeLessThan(700 * S);
  });

  it("is the whole limit without a capture that ended", () => {
    expect(chooseInitialView([], LIMIT)).toEqual(LIMIT);
  });
});
