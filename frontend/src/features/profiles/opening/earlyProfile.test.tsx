import { screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, it } from "vitest";
import { listProfiles } from "../../../../mock/captures/profile.ts";
import { overrideAnswer, sentRequests } from "../../../../mock/server/msw";
import { openScreen } from "../../../testing/screen";
import { openProfileEarly } from "./earlyProfile";

const PROFILE = {
  ...listProfiles("00000000-0000-4000-8000-000000000001")[0],
  state: "ready",
  kind: "on_cpu",
};
const ADDRESS = `/profiles/${PROFILE.id}`;
const TREE = {
  tree: {
    id: 0,
    name: "all",
    value: 5,
    self: 0,
    kind: "root",
    children: [{ id: 1, name: "main", value: 5, self: 5, kind: "user", children: [] }],
  },
  path: [],
  total: 5,
  samples: 5,
  node_count: 2,
};

let tree: { status: number; body: object };
beforeEach(() => {
  sentRequests.length = 0;
  tree = { status: 200, body: TREE };
  overrideAnswer(({ path }) => {
    if (path === ADDRESS) return { status: 200, body: PROFILE };
    if (path.endsWith("/tree")) return tree;
    if (path.endsWith("/heat"))
      return { status: 200, body: { t0_ns: 0, bin_ns: 1e9, rows: [[1, 2]], columns: 2 } };
    if (path.endsWith("/table")) return { status: 200, body: { rows: [], total: 5 } };
    return undefined;
  });
});
afterEach(() => overrideAnswer(undefined));

const openEarly = (search: string, pathname = ADDRESS) => openProfileEarly({ pathname, search } as Location);
const picture = () => document.querySelector<HTMLElement>('[data-testid="early-flame"]');
const sent = (end: string) => sentRequests.filter(({ path }) => path.endsWith(end));

it("leaves other pages alone", async () => {
  for (const pathname of ["/", "/profiles", `${ADDRESS}/x`, "/hosts/1"])
    expect(openEarly("", pathname)).toBeUndefined();
  expect(sentRequests).toEqual([]);
});

it("requests but does not draw views without one flame graph, and a search with its colors", async () => {
  for (const [search, trees] of [
    ["?view=table", 0],
    ["?view=tree", 1],
    ["?q=main", 1],
  ] as const) {
    sentRequests.length = 0;
    expect(openEarly(search)).toBeUndefined();
    await waitFor(() => expect(sent(ADDRESS)).toHaveLength(1));
    expect(sent("/tree")).toHaveLength(trees);
  }
  expect(picture()).toBeNull();
});

it("draws nothing if the tree is empty, refused or missing", async () => {
  for (const answer of [
    { status: 200, body: { ...TREE, total: 0 } },
    { status: 401, body: { title: "sign in" } },
    { status: 404, body: { title: "no such profile" } },
  ]) {
    tree = answer;
    await openEarly("");
    expect(picture()).toBeNull();
  }
});

it("draws the tree of the address before the application starts, which then replaces it", async () => {
  await openEarly("?cpu=1&view=icicle");
  expect(sent("/tree")[0]?.query.toString()).toBe("cpu=1&width=1200");
  expect(picture()?.dataset.frames).toBe("2");
  expect(picture()?.querySelector("canvas")).not.toBeNull();
  expect(picture()?.parentElement?.getAttribute("aria-hidden")).toBe("true");
  openScreen(`${ADDRESS}?cpu=1&view=icicle`);
  await screen.findByTestId("flame");
  await waitFor(() => expect(picture()).toBeNull());
  // Tests run without a stale time, so the page requests the prefetched tree again. The prefetch sends no request.
  expect(sent("/tree")).toHaveLength(2);
});
