import { expect, it } from "vitest";
import {
  type ComparisonSide,
  listProcessChoices,
  listThreadChoices,
  toSideFilter,
  toSidePatch,
} from "./sides";

const side: ComparisonSide = { profile: "p", range: undefined, process: "", thread: "" };
const facets = {
  cpus: [],
  modules: [],
  cgroups: [],
  softirq: 0,
  processes: [
    { pid: 1, comm: "web", weight: 30 },
    { pid: 2, comm: "web", weight: 50 },
    { pid: 3, comm: "db", weight: 70 },
  ],
  threads: [
    { tid: 1, pid: 1, comm: "io", weight: 30 },
    { tid: 4, pid: 2, comm: "io", weight: 40 },
    { tid: 5, pid: 2, comm: "gc", weight: 10 },
    { tid: 3, pid: 3, comm: "db", weight: 70 },
  ],
};

it("applies the process name of the profile page to both sides, and PID and CPU only to B", () => {
  const search = { comm: "web", pid: "12", cpu: "3", idle: "1" };
  expect(toSideFilter(side, "a", search)).toEqual({ comm: ["web"], hide_idle: true });
  expect(toSideFilter(side, "b", search)).toEqual({ comm: ["web"], pid: [12], cpu: [3], hide_idle: true });
});

it("limits both sides to the control group and to softirqs", () => {
  const expected = { cgroup: ["/web"], softirq_only: true };
  for (const name of ["a", "b"] as const)
    expect(toSideFilter(side, name, { cg: "/web", softirq: "1" })).toEqual(expected);
});

it("prefers the selection of a side over the filter of the profile page", () => {
  const chosen = { ...side, process: "db", thread: "tid:42", range: { from: 1.4, to: 9 } };
  expect(toSideFilter(chosen, "b", { comm: "web", tid: "7" })).toEqual({
    comm: ["db"],
    tid: [42],
    from_ns: 1,
    to_ns: 9,
  });
  expect(toSideFilter({ ...side, thread: "name:a:b" }, "a", {})).toEqual({ thread: ["a:b"] });
  expect(toSidePatch("a", { process: "x", range: undefined })).toEqual({ ac: "x", a: undefined });
});

it("offers processes by name, and threads by name, and by TID if a name has several threads", () => {
  expect(listProcessChoices(facets).map(({ value, weight }) => [value, weight])).toEqual([
    ["web", 80],
    ["db", 70],
  ]);
  expect(listThreadChoices(facets, "web").map(({ label }) => label)).toEqual([
    "io × 2",
    "io 4",
    "io 1",
    "gc",
  ]);
  expect(listThreadChoices(undefined, "web")).toEqual([]);
});
