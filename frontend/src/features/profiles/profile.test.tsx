import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, it } from "vitest";
import { listProfiles } from "../../../mock/captures/profile.ts";
import { createSchedulerTracks } from "../../../mock/captures/sched.ts";
import { overrideAnswer, sentRequests } from "../../../mock/server/msw";
import { openScreen } from "../../testing/screen";

const PROFILE = {
  ...listProfiles("00000000-0000-4000-8000-000000000001")[0],
  state: "ready",
  kind: "on_cpu",
};
const LEAF = { id: 1, name: "main", value: 5, self: 5, kind: "user", children: [] };
const TREE = {
  tree: { id: 0, name: "all", value: 5, self: 0, kind: "root", children: [LEAF] },
  path: [],
  total: 5,
  samples: 5,
  node_count: 2,
};

const SCHEDULE_ID = "00000000-0000-4000-8000-00000000000a";

/** Answer requests of the profile page. `schedule` is the time range of scheduler events of the run, in seconds. */
function answerProfile({ tree = TREE, rows = [] as object[], schedule = [0, 2] } = {}): void {
  overrideAnswer(({ path, query }) => {
    if (path === `/profiles/${PROFILE.id}`) return { status: 200, body: PROFILE };
    if (path === "/profiles") {
      const [from = 0, to = 0] = schedule.map((s) => s * 1e9);
      const recorded = { ...PROFILE, id: SCHEDULE_ID, kind: "sched", t0_ns: from, t1_ns: to };
      return { status: 200, body: { items: [PROFILE, recorded], next_cursor: null } };
    }
    if (path.endsWith("/sched/tracks"))
      return { status: 200, body: createSchedulerTracks(0, 2e9, query.get("by")) };
    if (path.endsWith("/tree")) return { status: 200, body: tree };
    if (path.endsWith("/heat"))
      return {
        status: 200,
        body: {
          t0_ns: 0,
          bin_ns: 1e9,
          rows: [
            [1, 2],
            [4, 1],
          ],
          columns: 2,
        },
      };
    if (path.endsWith("/table")) return { status: 200, body: { rows, total: tree.total } };
    if (path.endsWith("/facets"))
      return { status: 200, body: { cpus: [], processes: [], threads: [], modules: [] } };
    return undefined;
  });
}

beforeEach(() => {
  sentRequests.length = 0;
  answerProfile();
});
afterEach(() => overrideAnswer(undefined));

const requests = (end: string) => sentRequests.filter(({ path }) => path.endsWith(end));

it("requests one tree before the page renders, and the filter options after it", async () => {
  openScreen(`/profiles/${PROFILE.id}?cpu=1&hide=a,b&view=callers`);
  expect(await screen.findByTestId("flame")).toBeInTheDocument();
  await waitFor(() => expect(requests("/facets")).toHaveLength(1));
  // Tests run without a stale time, so the prefetched tree is requested again with the same query.
  expect(new Set(requests("/tree").map(({ query }) => query.toString())).size).toBe(1);
  const [tree] = requests("/tree");
  expect(Object.fromEntries(tree?.query ?? [])).toMatchObject({ cpu: "1", inverted: "true" });
  expect(Number(tree?.query.get("width"))).toBeGreaterThanOrEqual(window.innerWidth);
  const at = (end: string) => sentRequests.findIndex(({ path }) => path.endsWith(end));
  expect(at("/tree")).toBeLessThan(at("/facets"));
});

it("requests no tree for the table view", async () => {
  openScreen(`/profiles/${PROFILE.id}?view=table`);
  await waitFor(() => expect(requests("/table")).toHaveLength(1));
  expect(requests("/tree")).toHaveLength(0);
});

it("draws scheduler events of the same recording on the time axis of the samples, and filters by their thread", async () => {
  const user = userEvent.setup();
  openScreen(`/profiles/${PROFILE.id}?sched=1&by=thread&b=500000~1500000`);
  const names = await screen.findByTestId("scheduler-names");
  const [tracks] = requests("/sched/tracks");
  expect(Object.fromEntries(tracks?.query ?? [])).toMatchObject({
    profile: SCHEDULE_ID,
    from_ns: "0",
    to_ns: "2000000000",
  });
  await user.click(within(names).getByRole("button", { name: "feed-io 4001" }));
  await waitFor(() => expect(requests("/tree").at(-1)?.query.get("tid")).toBe("4001"));
  expect(requests("/tree").at(-1)?.query.get("from_ns")).toBe("500000000");
  await waitFor(() => expect(requests("/sched/tracks").at(-1)?.query.get("tid")).toBe("4001"));
  // With "Zoom to the selection", the tracks request only the selected time.
  await user.click(screen.getByRole("checkbox", { name: "Zoom to the selection" }));
  await waitFor(() => expect(requests("/sched/tracks").at(-1)?.query.get("to_ns")).toBe("1500000000"));
  await user.click(screen.getByRole("button", { name: /^Wake-ups of feed-io/ }));
  await waitFor(() => expect(requests("/tree").at(-1)?.query.has("tid")).toBe(false));
});

it("links to scheduler events of another time instead of drawing them", async () => {
  answerProfile({ schedule: [10, 15] });
  openScreen(`/profiles/${PROFILE.id}?sched=1`);
  const note = await screen.findByText(/are of another time/);
  expect(within(note).getByRole("link")).toHaveAttribute("href", `/profiles/${SCHEDULE_ID}`);
  expect(requests("/sched/tracks")).toHaveLength(0);
});

it("displays a thread in the order of time, and selects the time of a box", async () => {
  const user = userEvent.setup();
  const router = openScreen(`/profiles/${PROFILE.id}?view=time&q=gcDrain`);
  expect(await screen.findByTestId("time-order-note")).toHaveTextContent(
    "feed-worker 4021 The heaviest of 56 threads",
  );
  expect(requests("/tree")).toHaveLength(0);
  // The share of a search is that of the displayed thread.
  await waitFor(() => expect(requests("/search").at(-1)?.query.get("tid")).toBe("4021"));
  screen.getByTestId("flame").focus();
  // The root, the task, main, and the longest request.
  await user.keyboard("{ArrowDown}{ArrowDown}{ArrowDown}{ArrowDown}{Enter}");
  await waitFor(() => expect(requests("/time-order").at(-1)?.query.get("tid")).toBe("4021"));
  const { from_ns, to_ns } = Object.fromEntries(requests("/time-order").at(-1)?.query ?? []);
  expect(Number(to_ns) - Number(from_ns)).toBeLessThan(2e9);
  expect(router.state.location.search).toHaveProperty("b");
  await user.keyboard("{Escape}{Escape}");
  await waitFor(() => expect(router.state.location.search).not.toHaveProperty("b"));
  expect(router.state.location.search).toMatchObject({ view: "time" });
});

it("has axes of time above the strip, and of samples with their times above the boxes", async () => {
  openScreen(`/profiles/${PROFILE.id}?view=time`);
  const texts = (id: string) => screen.getByTestId(id).textContent ?? "";
  await screen.findByTestId("time-order-note");
  expect(screen.getByTestId("time-axis")).toBeInTheDocument();
  // The test environment has no layout, so the width comes from the observer of the axis.
  await waitFor(() => expect(texts("sample-axis")).toMatch(/^0 samples/));
  expect(texts("sample-times")).toMatch(/^\d\d:\d\d:\d\d\.\d{3}/);
});

it("states the whole name of a selected thread", async () => {
  openScreen(`/profiles/${PROFILE.id}?tid=4021`);
  expect(await screen.findByTitle("Thread 4021")).toBeInTheDocument();
});

it("orders the samples of a CPU that is selected", async () => {
  openScreen(`/profiles/${PROFILE.id}?view=time&cpu=1`);
  await screen.findByTestId("time-order-note");
  expect(Object.fromEntries(requests("/time-order")[0]?.query ?? [])).toMatchObject({ by: "cpu", cpu: "1" });
});

it.each(["flame", "table", "sandwich"])("clears the filters of a %s view without samples", async (view) => {
  const user = userEvent.setup();
  answerProfile({ tree: { ...TREE, total: 0, samples: 0, tree: { ...TREE.tree, value: 0, children: [] } } });
  const router = openScreen(`/profiles/${PROFILE.id}?view=${view}&cpu=3&stack=x&b=1~2`);
  await user.click(await screen.findByRole("button", { name: "Show all samples" }));
  await waitFor(() => expect(Object.keys(router.state.location.search)).not.toContain("b"));
  expect(Object.keys(router.state.location.search).filter((key) => key !== "view")).toEqual([]);
});
