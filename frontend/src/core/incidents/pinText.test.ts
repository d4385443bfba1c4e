import { describe, expect, it } from "vitest";
import { pinText } from "./pinText";

describe("snapshot of a pin", () => {
  it.each([
    [{ lines: [{ number: 3, text: "cpu0 1 2" }] }, "cpu0 1 2"],
    [{ lines: Array.from({ length: 9 }, (_, n) => ({ number: n, text: `l${n}` })) }, "l0\nl1\nl2\nl3\n…"],
    [{ frame: "gcDrain", share: 0.382 }, "gcDrain · 38.2\u2009%"],
    [{ frame: "gcDrain", share: null }, "gcDrain"],
    [{ cells: [{ id: "rss_kb", unit: "kb", value: 2048 }] }, "rss kb 2\u2009MiB"],
    [{ cells: [{ id: "port", unit: "", value: 38761 }] }, "port 38761"],
    [
      { series: [{ labels: { dev: "sda" }, axis: "", sample_count: 3, min: 1, mean: 2, max: 4 }] },
      "sda min 1 · mean 2 · max 4 · n 3",
    ],
    [{ left: { number: 4, plan: "cpu" }, right: { kind: "on_cpu", samples: 9 } }, "#4 cpu ↔ on_cpu n 9"],
    [{ frame: "f", share: 0.382, samples: 1200 }, "f · 38.2\u2009% · n 1,200"],
    [{}, ""],
    [{ lines: "no list" }, ""],
  ])("has a short text: %j", (snapshot, text) => expect(pinText(snapshot)).toBe(text));
});
