import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  assignDotLevels,
  cellState,
  computeSeverityScore,
  formatRobustZ,
  formatRoughAge,
  groupHostRows,
  type HostLike,
  hasLabel,
  keepOrder,
  labelNames,
  labelPairs,
  matchesHostSearch,
  moveCell,
  type RuleResultLike,
  rankDistinctiveRules,
  resultAgeMs,
  sortHosts,
} from "./fleet";

const host = (id: string, extra: Partial<HostLike> = {}): HostLike => ({
  id,
  name: id,
  labels: {},
  runs: [{ at: "2026-11-21T02:00:00Z" }],
  worst: null,
  ...extra,
});
const word = (
  state: RuleResultLike["state"],
  severity: RuleResultLike["severity"] = "warn",
  run_index = 0,
): RuleResultLike => ({
  rule: "F-X",
  state,
  severity,
  run_index,
});
const ids = (hosts: readonly { id: string }[]) => hosts.map((host) => host.id);

describe("cells", () => {
  it("have the severity of a match, and are absent without a result", () => {
    expect(cellState(word("matched", "critical"))).toBe("critical");
    expect(cellState(word("not_matched", "critical"))).toBe("not_matched");
    expect(cellState(undefined)).toBe("absent");
  });

  it("have the age of the run of their result", () => {
    const item = host("a", { runs: [{ at: "2026-11-21T02:00:00Z" }, { at: "2026-11-21T01:00:00Z" }] });
    expect(resultAgeMs(item, word("matched", "warn", 1), "2026-11-21T02:01:00Z")).toBe(61 * 60_000);
    expect(resultAgeMs(host("b", { runs: [] }), undefined, "2026-11-21T02:01:00Z")).toBeUndefined();
  });
});

describe("roughAge", () => {
  it("rounds down to the largest unit", () => {
    const texts = [999, 61_000, 7_200_000, 200_000_000].map(formatRoughAge);
    expect(texts).toEqual(["0\u2009s", "1\u2009min", "2\u2009h", "2\u2009d"]);
  });
});

describe("order of hosts", () => {
  it("ranks one critical cell above many warnings, and hosts without a run last", () => {
    const results: Record<string, RuleResultLike[]> = {
      well: [word("not_matched")],
      warned: Array.from({ length: 18 }, () => word("matched")),
      unhealthy: [word("matched", "critical")],
      unmeasured: [],
    };
    const all = ["well", "unmeasured", "warned", "unhealthy"].map((id) =>
      host(id, id === "unmeasured" ? { runs: [] } : {}),
    );
    expect(ids(sortHosts(all, "worst", (host) => results[host.id] ?? []))).toEqual([
      "unhealthy",
      "warned",
      "well",
      "unmeasured",
    ]);
    expect(computeSeverityScore(host("unmeasured", { runs: [] }), [])).toBe(-1);
  });

  it("sorts numbers in names numerically", () => {
    const all = ["h10", "h9", "h1"].map((id) => host(id));
    expect(ids(sortHosts(all, "name", () => []))).toEqual(["h1", "h9", "h10"]);
  });

  it("is kept when new rows arrive, and reported as stale", () => {
    const now = ["unhealthy", "new", "a", "b"].map((id) => host(id));
    const order = keepOrder(["a", "b", "unhealthy"], now);
    expect(ids(order.rows)).toEqual(["a", "b", "unhealthy", "new"]);
    expect(order.stale).toBe(true);
    expect(keepOrder(ids(now), now).stale).toBe(false);
  });
});

describe("matchColumn", () => {
  it("matches names and labels", () => {
    const item = host("web-1", { labels: { role: "feed" } });
    expect(["WEB", "role=feed", "role:fe", ""].map((q) => matchesHostSearch(item, q))).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect(matchesHostSearch(item, "ads")).toBe(false);
  });
});

describe("labels", () => {
  const all = [host("a", { labels: { role: "x", dc: "1" } }), host("b", { labels: { role: "x" } })];

  it("are sorted by the number of hosts that have them", () => {
    expect(labelNames(all)).toEqual(["role", "dc"]);
    expect(labelPairs(all)).toEqual(["role:x", "dc:1"]);
  });

  it("filter hosts, and an empty label matches all hosts", () => {
    expect(all.map((host) => hasLabel(host, "dc:1"))).toEqual([true, false]);
    expect(all.every((host) => hasLabel(host, ""))).toBe(true);
  });
});

describe("zText", () => {
  it("has a sign, and is limited to ±100", () => {
    expect([4.26, -7, 100, -100].map(formatRobustZ)).toEqual(["+4.3", "-7.0", "≥ 100", "≤ -100"]);
  });
});

describe("groups", () => {
  it("have the order of their first host; hosts without the label are a group", () => {
    const all = [
      host("a", { labels: { role: "x" } }),
      host("b"),
      host("c", { labels: { role: "y" } }),
      host("d", { labels: { role: "x" } }),
    ];
    expect(groupHostRows(all, "role").map((row) => (row.kind === "group" ? row.value : row.id))).toEqual([
      "x",
      "a",
      "d",
      null,
      "b",
      "y",
      "c",
    ]);
    expect(groupHostRows(all, "")).toHaveLength(4);
  });
});

describe("arrow keys", () => {
  const size = { rows: 6, columns: 19, page: 3 };
  const isSelectable = (row: number) => row !== 0 && row !== 3;
  const go = (row: number, column: number, key: string) => moveCell({ row, column }, key, size, isSelectable);

  it("move in the grid, skip headings and stop at the edges", () => {
    expect(go(2, 4, "ArrowDown")).toEqual({ row: 4, column: 4 });
    expect(go(4, 4, "ArrowUp")).toEqual({ row: 2, column: 4 });
    expect(go(1, 4, "ArrowUp")).toEqual({ row: 1, column: 4 });
    expect(go(1, 18, "ArrowRight")).toEqual({ row: 1, column: 18 });
    expect(go(1, 9, "Home")).toEqual({ row: 1, column: 0 });
    expect(go(1, 9, "End")).toEqual({ row: 1, column: 18 });
    expect(go(1, 9, "PageDown")).toEqual({ row: 4, column: 9 });
    expect(go(1, 9, "x")).toBeUndefined();
  });

  it("never leave the grid", () => {
    const keys = fc.constantFrom(
      "ArrowDown",
      "ArrowUp",
      "ArrowLeft",
      "ArrowRight",
      "PageDown",
      "PageUp",
      "Home",
      "End",
    );
    fc.assert(
      fc.property(fc.array(keys, { maxLength: 40 }), (pressed) => {
        let at = { row: 1, column: 0 };
        for (const key of pressed) {
          at = moveCell(at, key, size, isSelectable) ?? at;
          expect(isSelectable(at.row)).toBe(true);
          expect(at.column >= 0 && at.column < size.columns && at.row < size.rows).toBe(true);
        }
      }),
    );
  });
});

describe("commonness", () => {
  const matrixHost = (
    id: string,
    matched: string[],
    not_matched: string[] = [],
    inconclusive: string[] = [],
  ) => ({
    id,
    matched: matched.map((rule) => ({ rule })),
    not_matched,
    inconclusive,
  });

  it("ranks rules that matched only on bad hosts first, and ignores inconclusive rules", () => {
    const hosts = [
      matrixHost("b1", ["steal", "load"]),
      matrixHost("b2", ["steal", "load"]),
      matrixHost("g1", ["load"], ["steal"]),
      matrixHost("g2", ["load"], [], ["steal"]),
    ];
    const rules = rankDistinctiveRules(hosts, new Set(["b1", "b2"]));
    expect(rules.map(({ rule, bad, good, distinction }) => ({ rule, bad, good, distinction }))).toEqual([
      { rule: "steal", bad: [2, 2], good: [0, 1], distinction: 1 },
      { rule: "load", bad: [2, 2], good: [2, 2], distinction: 0 },
    ]);
  });

  it("is negative for a rule that matched on no bad host", () => {
    expect(rankDistinctiveRules([matrixHost("g", ["load"])], new Set())[0]?.distinction).toBe(-1);
  });
});

describe("swarm", () => {
  it("stacks overlapping dots up to the maximum level", () => {
    expect(assignDotLevels([10, 10.2, 40, 10.1], 5, 2)).toEqual([0, 1, 0, 0]);
  });
});
