import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  ageMs,
  badness,
  carries,
  cellLook,
  commonness,
  type HostLike,
  keepOrder,
  labelNames,
  labelPairs,
  meant,
  roughAge,
  rowsOf,
  sorted,
  stepped,
  swarm,
  type WordLike,
  windowOf,
  zText,
} from "./fleet";

const host = (id: string, extra: Partial<HostLike> = {}): HostLike => ({
  id,
  name: id,
  labels: {},
  looks: [{ at: "2026-11-21T02:00:00Z" }],
  worst: null,
  ...extra,
});
const word = (state: WordLike["state"], severity: WordLike["severity"] = "warn", look = 0): WordLike => ({
  rule: "F-X",
  state,
  severity,
  look,
});
const ids = (hosts: readonly { id: string }[]) => hosts.map((one) => one.id);

describe("a cell", () => {
  it("looks like what fired, and not looking is a look of its own", () => {
    expect(cellLook(word("fired", "critical"))).toBe("critical");
    expect(cellLook(word("quiet", "critical"))).toBe("quiet");
    expect(cellLook(undefined)).toBe("absent");
  });

  it("has the age of its own look, by the server's clock", () => {
    const one = host("a", { looks: [{ at: "2026-11-21T02:00:00Z" }, { at: "2026-11-21T01:00:00Z" }] });
    expect(ageMs(one, word("fired", "warn", 1), "2026-11-21T02:01:00Z")).toBe(61 * 60_000);
    expect(ageMs(host("b", { looks: [] }), undefined, "2026-11-21T02:01:00Z")).toBeUndefined();
  });
});

describe("an age", () => {
  it("is told in its largest unit", () => {
    const told = [999, 61_000, 7_200_000, 200_000_000].map(roughAge);
    expect(told).toEqual(["0\u2009s", "1\u2009min", "2\u2009h", "2\u2009d"]);
  });
});

describe("the order", () => {
  it("puts one critical cell above many warnings, and what nobody looked at last", () => {
    const said: Record<string, WordLike[]> = {
      well: [word("quiet")],
      warned: Array.from({ length: 18 }, () => word("fired")),
      sick: [word("fired", "critical")],
      blind: [],
    };
    const all = ["well", "blind", "warned", "sick"].map((id) =>
      host(id, id === "blind" ? { looks: [] } : {}),
    );
    expect(ids(sorted(all, "worst", (one) => said[one.id] ?? []))).toEqual([
      "sick",
      "warned",
      "well",
      "blind",
    ]);
    expect(badness(host("blind", { looks: [] }), [])).toBe(-1);
  });

  it("sorts names as people count", () => {
    const all = ["h10", "h9", "h1"].map((id) => host(id));
    expect(ids(sorted(all, "name", () => []))).toEqual(["h1", "h9", "h10"]);
  });

  it("stays while news come in, and says that it is not the newest any more", () => {
    const now = ["sick", "new", "a", "b"].map((id) => host(id));
    const kept = keepOrder(["a", "b", "sick"], now);
    expect(ids(kept.rows)).toEqual(["a", "b", "sick", "new"]);
    expect(kept.stale).toBe(true);
    expect(keepOrder(ids(now), now).stale).toBe(false);
  });
});

describe("a search", () => {
  it("finds names and labels", () => {
    const one = host("web-1", { labels: { role: "feed" } });
    expect(["WEB", "role=feed", "role:fe", ""].map((q) => meant(one, q))).toEqual([true, true, true, true]);
    expect(meant(one, "ads")).toBe(false);
  });
});

describe("labels", () => {
  const all = [host("a", { labels: { role: "x", dc: "1" } }), host("b", { labels: { role: "x" } })];

  it("are offered by how many carry them", () => {
    expect(labelNames(all)).toEqual(["role", "dc"]);
    expect(labelPairs(all)).toEqual(["role:x", "dc:1"]);
  });

  it("narrow to those that carry one", () => {
    expect(all.map((one) => carries(one, "dc:1"))).toEqual([true, false]);
    expect(all.every((one) => carries(one, ""))).toBe(true);
  });
});

describe("a robust z", () => {
  it("has a sign and is bounded", () => {
    expect([4.26, -7, 100, -100].map(zText)).toEqual(["+4.3", "-7.0", "≥ 100", "≤ -100"]);
  });
});

describe("groups", () => {
  it("stand in the order of their first host; those without the label have one of their own", () => {
    const all = [
      host("a", { labels: { role: "x" } }),
      host("b"),
      host("c", { labels: { role: "y" } }),
      host("d", { labels: { role: "x" } }),
    ];
    expect(rowsOf(all, "role").map((row) => (row.kind === "group" ? row.value : row.id))).toEqual([
      "x",
      "a",
      "d",
      null,
      "b",
      "y",
      "c",
    ]);
    expect(rowsOf(all, "")).toHaveLength(4);
  });
});

describe("what is drawn", () => {
  it("covers the view, and is bounded by it", () => {
    fc.assert(
      fc.property(
        fc.nat(20_000),
        fc.integer({ min: 1, max: 2000 }),
        fc.integer({ min: 10, max: 60 }),
        fc.nat(600),
        (top, height, rowHeight, count) => {
          const [from, to] = windowOf(top, height, rowHeight, count);
          expect(from).toBeGreaterThanOrEqual(0);
          expect(to).toBeLessThanOrEqual(count);
          expect(to - from).toBeLessThanOrEqual(Math.ceil(height / rowHeight) + 14);
          for (let row = 0; row < count; row += 1) {
            const seen = row * rowHeight < top + height && (row + 1) * rowHeight > top;
            if (seen) expect(row >= from && row < to).toBe(true);
          }
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe("arrow keys", () => {
  const size = { rows: 6, columns: 19, page: 3 };
  const stands = (row: number) => row !== 0 && row !== 3;
  const go = (row: number, column: number, key: string) => stepped({ row, column }, key, size, stands);

  it("move in the grid, pass over headings and stop at its edges", () => {
    expect(go(2, 4, "ArrowDown")).toEqual({ row: 4, column: 4 });
    expect(go(4, 4, "ArrowUp")).toEqual({ row: 2, column: 4 });
    expect(go(1, 4, "ArrowUp")).toEqual({ row: 1, column: 4 });
    expect(go(1, 18, "ArrowRight")).toEqual({ row: 1, column: 18 });
    expect(go(1, 9, "Home")).toEqual({ row: 1, column: 0 });
    expect(go(1, 9, "End")).toEqual({ row: 1, column: 18 });
    expect(go(1, 9, "PageDown")).toEqual({ row: 4, column: 9 });
    expect(go(1, 9, "x")).toBeUndefined();
  });

  it("never leave it", () => {
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
          at = stepped(at, key, size, stands) ?? at;
          expect(stands(at.row)).toBe(true);
          expect(at.column >= 0 && at.column < size.columns && at.row < size.rows).toBe(true);
        }
      }),
    );
  });
});

describe("what the bad ones have in common", () => {
  const asked = (id: string, fired: string[], quiet: string[] = [], inconclusive: string[] = []) => ({
    id,
    fired: fired.map((rule) => ({ rule })),
    quiet,
    inconclusive,
  });

  it("comes before what all have, and what was not asked counts for nobody", () => {
    const hosts = [
      asked("b1", ["steal", "load"]),
      asked("b2", ["steal", "load"]),
      asked("g1", ["load"], ["steal"]),
      asked("g2", ["load"], [], ["steal"]),
    ];
    const found = commonness(hosts, new Set(["b1", "b2"]));
    expect(found.map(({ rule, bad, good, tells }) => ({ rule, bad, good, tells }))).toEqual([
      { rule: "steal", bad: [2, 2], good: [0, 1], tells: 1 },
      { rule: "load", bad: [2, 2], good: [2, 2], tells: 0 },
    ]);
  });

  it("with nobody bad nothing tells for the bad", () => {
    expect(commonness([asked("g", ["load"])], new Set())[0]?.tells).toBe(-1);
  });
});

describe("dots of a strip", () => {
  it("that would cover each other stand one above the other, never higher than there is room", () => {
    expect(swarm([10, 10.2, 40, 10.1], 5, 2)).toEqual([0, 1, 0, 0]);
  });
});
