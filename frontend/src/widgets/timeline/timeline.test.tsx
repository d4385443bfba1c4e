import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { HOSTS, listCaptureBlocks, TAKEN_CAPTURES } from "../../../mock/dataset";
import { overrideAnswer, sentRequests } from "../../../mock/server/msw";
import type { Host } from "../../client/models";
import { parseRange } from "../../core/time/range";
import { openScreen } from "../../testing/screen";

const HOST = HOSTS[2] as Host;
const AT = `/hosts/${HOST.id}`;
const LAST = TAKEN_CAPTURES[TAKEN_CAPTURES.length - 1] as (typeof TAKEN_CAPTURES)[number];

const tracks = () => screen.findByRole("region", { name: "Tracks of measurements over time" });

describe("timeline of a host", () => {
  it("starts at the last capture with the default tracks", async () => {
    openScreen(AT);
    const region = await tracks();
    expect(within(region).getByText("CPU busy")).toBeVisible();
    expect(within(region).getByText("Softirqs, per CPU · NET_RX")).toBeVisible();
    await waitFor(() =>
      expect(sentRequests.some((request) => request.path.endsWith("/timeline"))).toBe(true),
    );
    const query = sentRequests.find((request) => request.path.endsWith("/timeline"))?.query;
    expect(Number(query?.get("from_ns"))).toBeLessThan(LAST.from * 1e9);
    expect(Number(query?.get("to_ns"))).toBeGreaterThan((LAST.from + LAST.seconds) * 1e9);
    expect(Number(query?.get("width"))).toBeLessThanOrEqual(4000);
  });

  it("writes the visible range to the URL on keyboard navigation", async () => {
    const router = openScreen(AT);
    await tracks();
    fireEvent.keyDown(window, { key: "0" });
    await waitFor(() => expect(router.state.location.search).toHaveProperty("t"));
    const all = parseRange((router.state.location.search as { t: string }).t);
    expect(all?.from).toBeLessThanOrEqual((TAKEN_CAPTURES[0]?.from ?? 0) * 1e9);
    fireEvent.keyDown(window, { key: "]" });
    fireEvent.keyDown(window, { key: "w" });
    await waitFor(() => {
      const now = parseRange((router.state.location.search as { t: string }).t);
      expect((now?.to ?? 0) - (now?.from ?? 0)).toBeLessThan((all?.to ?? 0) - (all?.from ?? 0));
    });
  });

  it("reads brush, baseline and tracks from the URL, and links the profile comparison", async () => {
    const from = LAST.from * 1e6;
    openScreen(
      `${AT}?b=${from + 60e6}~${from + 80e6}&c=${from}~${from + 20e6}&fold=tasks&tracks=-cpu.total_busy_pct`,
    );
    const region = await tracks();
    expect(within(region).queryByText("CPU busy")).toBeNull();
    expect(within(region).queryByText("Runnable tasks")).toBeNull();
    expect(await screen.findByRole("button", { name: "Clear baseline" })).toBeVisible();
    const compare = await screen.findByRole("link", { name: "Compare profiles" });
    const sides = new URL(compare.getAttribute("href") ?? "", "http://here").searchParams;
    expect(sides.get("ap")).toBeTruthy();
    expect(sides.get("bp")).toBeTruthy();
    expect(parseRange(sides.get("a") ?? "")).toEqual({ from: from * 1e3, to: (from + 20e6) * 1e3 });
    expect(parseRange(sides.get("b") ?? "")).toEqual({
      from: (from + 60e6) * 1e3,
      to: (from + 80e6) * 1e3,
    });
  });

  it("clears the baseline with Esc, then the brush", async () => {
    const from = LAST.from * 1e6;
    const router = openScreen(`${AT}?b=${from + 60e6}~${from + 80e6}&c=${from}~${from + 20e6}`);
    await tracks();
    fireEvent.keyDown(window, { key: "Escape" });
    await waitFor(() => expect(router.state.location.search).not.toHaveProperty("c"));
    expect(router.state.location.search).toHaveProperty("b");
    fireEvent.keyDown(window, { key: "Escape" });
    await waitFor(() => expect(router.state.location.search).not.toHaveProperty("b"));
  });

  it("ignores keys typed into a field", async () => {
    const router = openScreen(AT);
    await tracks();
    const field = document.createElement("input");
    document.body.append(field);
    fireEvent.keyDown(field, { key: "0" });
    await new Promise((done) => setTimeout(done, 400));
    expect(router.state.location.search).not.toHaveProperty("t");
    field.remove();
  });

  it("displays events with details and source line", async () => {
    const user = userEvent.setup();
    openScreen(AT);
    await tracks();
    const mark = await screen.findByRole("button", { name: /Out of memory/ });
    await user.click(mark);
    expect(await screen.findByText(/Killed process 48211/)).toBeVisible();
    expect(screen.getByRole("link", { name: "Source: line 214" })).toHaveAttribute(
      "href",
      expect.stringContaining("line=214"),
    );
  });

  it("offers a first capture for a host without data", async () => {
    overrideAnswer(({ path }) =>
      path.endsWith("/overview")
        ? { status: 200, body: { first_ns: null, last_ns: null, runs: [], tracks: [] } }
        : undefined,
    );
    openScreen(AT);
    expect(await screen.findByRole("button", { name: "Start first capture" })).toBeVisible();
  });

  it("displays captures when the tracks fail to load", async () => {
    overrideAnswer(({ path }) =>
      path.endsWith("/timeline")
        ? { status: 503, body: { status: 503, title: "", detail: "busy", key: "" } }
        : undefined,
    );
    openScreen(AT);
    expect(await screen.findByText("busy")).toBeVisible();
    expect(
      screen.getByRole("button", {
        name: new RegExp(`#${listCaptureBlocks(HOST.id).at(-1)?.number} cpu`, "i"),
      }),
    ).toBeVisible();
  });
});
