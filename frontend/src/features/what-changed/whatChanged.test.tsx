import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { HOSTS, TAKEN_CAPTURES } from "../../../mock/dataset";
import { overrideAnswer, sentRequests } from "../../../mock/server/msw";
import { openScreen } from "../../testing/screen";
import type { CaptureBlock } from "../../widgets/timeline/api";
import {
  chooseAfter,
  chooseBefore,
  findRunByRange,
  listFinishedRuns,
} from "../../widgets/timeline/changes/selections";
import type { SeriesDifference } from "../../widgets/timeline/changes/useDifferences";
import { formatChange } from "./SeriesTable";
import { linePath } from "./Sparkline";

const HOST = HOSTS[2] as (typeof HOSTS)[number];
const OTHER = HOSTS[3] as (typeof HOSTS)[number];
const query = () => sentRequests.filter((request) => request.path.endsWith("/differences")).at(-1)?.query;

const run = (id: number, from: number, plan = "triage", state = "done", collectors = 50): CaptureBlock => ({
  run_id: `run-${id}`,
  capture_id: `capture-${id}`,
  number: id,
  plan,
  state,
  collectors,
  look_back_ns: null,
  from_ns: from,
  to_ns: from + 60e9,
  uncertainty_ns: 0,
});

describe("the selections of a comparison", () => {
  const runs = [run(1, 1e12), run(2, 2e12, "cpu"), run(3, 3e12), run(4, 4e12, "triage", "failed")];

  it("default to the newest run and the run of the same plan before it", () => {
    const after = chooseAfter(runs);
    expect(after).toEqual({ from: 3e12, to: 3e12 + 60e9 });
    expect(listFinishedRuns(runs).map(({ number }) => number)).toEqual([3, 2, 1]);
    expect(findRunByRange(runs, after)?.number).toBe(3);
    if (!after) throw new Error("no run");
    expect(chooseBefore(runs, after, { sameHost: true, plan: "triage" })?.from).toBe(1e12);
    expect(chooseBefore(runs, after, { sameHost: true, plan: "sched" })?.from).toBe(2e12);
  });

  it("leave out runs of few collectors, such as later stages of a diagnosis", () => {
    const stages = [run(1, 1e12, "custom"), run(2, 2e12, "custom"), run(3, 3e12, "custom", "done", 9)];
    const after = chooseAfter(stages);
    expect(after?.from).toBe(2e12);
    if (!after) throw new Error("no run");
    expect(chooseBefore(stages, after, { sameHost: true, plan: "custom" })?.from).toBe(1e12);
  });

  it("default to the nearest run on another host", () => {
    const after = { from: 1.9e12, to: 2e12 };
    expect(chooseBefore(runs, after, { sameHost: false, plan: undefined })?.from).toBe(2e12);
    expect(chooseBefore([], after, { sameHost: false, plan: undefined })).toBeUndefined();
  });
});

describe("a difference", () => {
  const side = (mean: number) => ({ n: 60, mean, min: mean, max: mean, points: [mean] });
  const difference = (before: number, after: number, ratio: number | null): SeriesDifference => ({
    metric: "cpu.busy_pct",
    labels: {},
    unit: "pct",
    axis: null,
    column: null,
    columns: 1,
    columns_changed: 1,
    before: side(before),
    after: side(after),
    steps: 5,
    ratio,
  });

  it("is a percentage, a factor from three times on, and an amount where nothing was before", () => {
    expect(formatChange(difference(50, 70, 1.4))).toBe("+40\u2009%");
    expect(formatChange(difference(70, 35, 0.5))).toBe("−50\u2009%");
    expect(formatChange(difference(10, 80, 8))).toBe("× 8");
    expect(formatChange(difference(0, 80, null))).toBe("+80\u2009%");
  });

  it("is drawn without a line across missing values", () => {
    expect(linePath([0, 1, null, 1], 0, 1, 0).match(/M/g)).toHaveLength(2);
    expect(linePath([null, null], 0, 1, 0)).toBe("");
    expect(linePath([5], 0, 10, 0)).toContain("h");
  });
});

describe("what changed", () => {
  it("compares the last two runs of a host and ranks the series", async () => {
    openScreen(`/what-changed?host=${HOST.id}`);
    const table = await screen.findByRole("region", { name: "Series" });
    const rows = within(table).getAllByRole("row");
    expect(rows.length).toBeGreaterThan(3);
    const last = TAKEN_CAPTURES.at(-1);
    expect(Number(query()?.get("after_from_ns"))).toBeCloseTo((last?.from ?? 0) * 1e9, -9);
    expect(query()?.get("before_host")).toBe(HOST.id);
    expect(Number(query()?.get("before_to_ns"))).toBeLessThanOrEqual(Number(query()?.get("after_from_ns")));
  });

  it("filters the series and links each to the timeline with both ranges", async () => {
    openScreen(`/what-changed?host=${HOST.id}&q=load`);
    const table = await screen.findByRole("region", { name: "Series" });
    const link = within(table).getAllByRole("link")[0];
    const address = new URL(link?.getAttribute("href") ?? "", "http://here");
    expect(address.pathname).toBe(`/hosts/${HOST.id}`);
    expect([...address.searchParams.keys()].sort()).toEqual(["b", "c", "t", "tracks"]);
    fireEvent.change(screen.getByRole("searchbox", { name: "Filter series" }), { target: { value: "zzz" } });
    expect(await screen.findByText(/No series contains/)).toBeVisible();
  });

  it("swaps both sides", async () => {
    openScreen(`/what-changed?host=${HOST.id}`);
    await screen.findByRole("region", { name: "Series" });
    const before = query()?.get("before_from_ns");
    fireEvent.click(screen.getByRole("button", { name: "Swap A and B" }));
    await waitFor(() => expect(Number(query()?.get("after_from_ns"))).toBeCloseTo(Number(before), -6));
  });

  it("lists settings of two hosts that differ", async () => {
    openScreen(`/what-changed?host=${HOST.id}&base=${OTHER.id}&tab=configuration`);
    const table = await screen.findByRole("region", { name: "Configuration" });
    expect(within(table).getByText("sysctl.vm.swappiness")).toBeVisible();
  });

  it("states what failed, and loads after a retry", async () => {
    overrideAnswer(({ path }) => (path === "/hosts" ? { status: 500, body: {} } : undefined));
    openScreen("/what-changed");
    expect(await screen.findByText(/^The server failed/)).toBeVisible();
    expect(screen.queryByRole("status", { name: "Loading" })).toBeNull();
    overrideAnswer(undefined);
    fireEvent.click(screen.getByRole("button", { name: "Try again" }));
    expect(await screen.findByRole("region", { name: "Series" })).toBeVisible();
  });

  it("states why nothing is compared", async () => {
    overrideAnswer(({ path }) =>
      path.endsWith("/differences")
        ? { status: 422, body: { status: 422, title: "", detail: "Both selections are the same.", key: "" } }
        : undefined,
    );
    openScreen(`/what-changed?host=${HOST.id}`);
    expect(await screen.findByText("Both selections are the same.")).toBeVisible();
  });
});
