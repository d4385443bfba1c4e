import { describe, expect, it } from "vitest";
import { findHeaviestPath, listCallRows } from "./callTree";
import { chooseFrameFill, frameLabel, listLegendModules, moduleName } from "./colors";
import {
  type FlameNode,
  findFramePath,
  findMatchingFrames,
  frameFill,
  type PathStep,
  zoomLoadedTree,
} from "./flame";
import { FRAME_ACTIONS, findFrameAction, frameActionKey, toExactPattern } from "./frameKeys";
import { computeBinBox, findPeakBinCount, trackLabel } from "./sampleTracks";

const node = (id: number, name: string, value: number, more: Partial<FlameNode> = {}): FlameNode => ({
  id,
  name,
  value,
  self: value - (more.children ?? []).reduce((sum, child) => sum + child.value, 0),
  kind: "user",
  ...more,
});
const tree = node(0, "all", 100, {
  kind: "root",
  children: [
    node(1, "main", 80, {
      module: "/usr/bin/feed",
      children: [
        node(2, "SSL_read", 50, { module: "/usr/lib/libssl.so.3" }),
        node(3, "feed+0x12", 20, { module: "/usr/bin/feed", kind: "unknown" }),
        node(-2, "pruned", 10, { kind: "pruned" }),
      ],
    }),
    node(4, "swapper", 20, { kind: "comm" }),
  ],
});

describe("colors by module", () => {
  it("are equal for frames of a module, and unchanged for unnamed and kernel frames", () => {
    const ssl = node(9, "SSL_write", 1, { module: "/usr/lib/libssl.so.3" });
    expect(chooseFrameFill(ssl, "module", "light")).toBe(
      chooseFrameFill(tree.children?.[0]?.children?.[0] as FlameNode, "module", "light"),
    );
    expect(chooseFrameFill(ssl, "module", "light")).not.toBe(chooseFrameFill(ssl, "kind", "light"));
    const unnamed = node(9, "libssl.so.3+0x1", 1, { module: "/usr/lib/libssl.so.3", kind: "unknown" });
    expect(chooseFrameFill(unnamed, "module", "dark")).toBe(frameFill("unknown", "", "dark"));
    const kernel = node(9, "do_read", 1, { module: "[kernel.kallsyms]", kind: "kernel" });
    expect(chooseFrameFill(kernel, "module", "dark")).toBe(chooseFrameFill(kernel, "kind", "dark"));
  });
  it("have a legend sorted by self weight", () => {
    const items = listLegendModules(tree, "light", 5);
    expect(items.map((item) => [item.name, item.self])).toEqual([
      ["libssl.so.3", 50],
      ["feed", 20],
    ]);
    expect(listLegendModules(tree, "light", 1)).toHaveLength(1);
  });
  it("name a module by its file name, and an unknown frame by its module", () => {
    expect(moduleName("/usr/bin/feed (deleted)")).toBe("feed");
    expect(moduleName("[kernel.kallsyms]")).toBe("[kernel.kallsyms]");
    expect(frameLabel(node(1, "[unknown]", 1, { module: "/usr/bin/gzip" }))).toBe("gzip [unknown]");
    expect(frameLabel(node(1, "[unknown]", 1, { module: "[unknown]" }))).toBe("[unknown]");
  });
});

describe("paths and matches", () => {
  it("return the frames from the root to a frame", () => {
    expect(findFramePath(tree, 3).map((item) => item.name)).toEqual(["all", "main", "feed+0x12"]);
    expect(findFramePath(tree, 4).map((item) => item.name)).toEqual(["all", "swapper"]);
    expect(findFramePath(tree, 77)).toEqual([]);
  });
  it("zoom within the loaded tree until the server responds", () => {
    const whole: { tree: FlameNode; path: PathStep[] } = { tree, path: [] };
    const zoomed = zoomLoadedTree(whole, ["main", "SSL_read"]);
    expect(zoomed?.tree.name).toBe("SSL_read");
    expect(zoomed?.path.map((step) => step.name)).toEqual(["all", "main"]);
    expect(zoomLoadedTree(zoomed as NonNullable<typeof zoomed>, ["main", "SSL_read"])?.tree.name).toBe(
      "SSL_read",
    );
    expect(zoomLoadedTree(zoomed as NonNullable<typeof zoomed>, ["main"])).toBeUndefined();
    expect(zoomLoadedTree(whole, ["main", "gone"])).toBeUndefined();
  });
  it("accept a part of a name or a regular expression; an invalid expression matches nothing", () => {
    expect([...findMatchingFrames(tree, "ssl")]).toEqual([2]);
    expect([...findMatchingFrames(tree, "/^(main|ssl_.*)$/")].sort()).toEqual([1, 2]);
    expect([...findMatchingFrames(tree, "/(/")]).toEqual([]);
  });
  it("match exactly one name with exactPattern", () => {
    for (const name of ["operator()", "a+0x1f", "std::vector<int>::at[abi:v1]", "x.y*"]) {
      expect(new RegExp(toExactPattern(name)).test(name)).toBe(true);
      expect(new RegExp(toExactPattern(name)).test(`${name}x`)).toBe(false);
    }
  });
});

it("opens the heaviest calls and lists only children of open nodes, without pruned nodes", () => {
  expect([...findHeaviestPath(tree)]).toEqual([0, 1, 2]);
  const rows = listCallRows(tree, new Set([0, 1]), 100);
  expect(rows.map((row) => [row.node.name, row.depth, row.hasChildren])).toEqual([
    ["all", 0, true],
    ["main", 1, true],
    ["SSL_read", 2, false],
    ["feed+0x12", 2, false],
    ["swapper", 1, false],
  ]);
  expect(listCallRows(tree, new Set([0, 1]), 2)).toHaveLength(2);
});

it("maps the key of each action back to the action", () => {
  for (const act of FRAME_ACTIONS) {
    const key = frameActionKey(act);
    if (key && key !== "Enter") expect(findFrameAction(key)).toBe(act);
  }
  expect(findFrameAction("w")).toBeUndefined();
});

it("returns the position of bins on the shared time axis, and the peak of all tracks", () => {
  const track = { cpu: -1, pid: 7, tid: 9, comm: "feed", weight: 6, counts: [1, 5] };
  const data = { t0_ns: 100, bin_ns: 10, tracks: [track] };
  expect(computeBinBox(data, 1, { from: 90, to: 190 }, 1000)).toEqual({ left: 200, right: 300 });
  expect(findPeakBinCount(data)).toBe(5);
  expect(findPeakBinCount({ ...data, tracks: [] })).toBe(1);
  expect([
    trackLabel(track, "thread"),
    trackLabel(track, "process"),
    trackLabel({ ...track, cpu: 3 }, "cpu"),
  ]).toEqual(["feed 9", "feed 7", "CPU 3"]);
});
