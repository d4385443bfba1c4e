import { screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, it } from "vitest";
import { profilesOf } from "../../../mock/captures/profile.ts";
import { answerInstead, sent } from "../../../mock/server/msw";
import { openScreen } from "../../testing/screen";

const PROFILE = { ...profilesOf("00000000-0000-4000-8000-000000000001")[0], state: "ready", kind: "on_cpu" };
const LEAF = { id: 1, name: "main", value: 5, self: 5, kind: "user", children: [] };
const TREE = {
  tree: { id: 0, name: "all", value: 5, self: 0, kind: "root", children: [LEAF] },
  path: [],
  total: 5,
  samples: 5,
  node_count: 2,
};

beforeEach(() => {
  sent.length = 0;
  answerInstead(({ path }) => {
    if (path === `/profiles/${PROFILE.id}`) return { status: 200, body: PROFILE };
    if (path.endsWith("/tree")) return { status: 200, body: TREE };
    if (path.endsWith("/heat"))
      return { status: 200, body: { t0_ns: 0, bin_ns: 1e9, rows: [[1], [4]], columns: 1 } };
    if (path.endsWith("/table")) return { status: 200, body: { rows: [], total: 5 } };
    if (path.endsWith("/facets"))
      return { status: 200, body: { cpus: [], processes: [], threads: [], modules: [] } };
    return undefined;
  });
});
afterEach(() => answerInstead(undefined));

const requests = (end: string) => sent.filter(({ path }) => path.endsWith(end));

it("requests one tree before the page renders, and the filter options after it", async () => {
  openScreen(`/profiles/${PROFILE.id}?cpu=1&hide=a,b&view=callers`);
  expect(await screen.findByTestId("flame")).toBeInTheDocument();
  await waitFor(() => expect(requests("/facets")).toHaveLength(1));
  // Tests run without a stale time, so the prefetched tree is requested again with the same query.
  expect(new Set(requests("/tree").map(({ query }) => query.toString())).size).toBe(1);
  const [tree] = requests("/tree");
  expect(Object.fromEntries(tree?.query ?? [])).toMatchObject({ cpu: "1", inverted: "true" });
  expect(Number(tree?.query.get("width"))).toBeGreaterThanOrEqual(window.innerWidth);
  const at = (end: string) => sent.findIndex(({ path }) => path.endsWith(end));
  expect(at("/tree")).toBeLessThan(at("/facets"));
});

it("requests no tree for the table view", async () => {
  openScreen(`/profiles/${PROFILE.id}?view=table`);
  await waitFor(() => expect(requests("/table")).toHaveLength(1));
  expect(requests("/tree")).toHaveLength(0);
});
