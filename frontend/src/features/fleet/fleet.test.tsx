import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it } from "vitest";
import { state } from "../../../mock/api";
import { overrideAnswer, sentRequests } from "../../../mock/server/msw";
import type { FleetUse } from "../../client/models";
import { openScreen } from "../../testing/screen";

afterEach(() => {
  state.role = "admin";
  state.empty = false;
});

const grid = async () => await screen.findByRole("grid", { name: "USE grid" });
const rowNames = () => screen.getAllByRole("rowheader").map((item) => item.textContent ?? "");
/** The active cell of the grid. */
const activeCell = (of: HTMLElement) =>
  document.getElementById(of.getAttribute("aria-activedescendant") ?? "");

const small = (names: readonly string[], critical: readonly string[]): FleetUse => ({
  at: "2026-11-21T02:40:00Z",
  left_out: 0,
  rules: {
    "F-X": {
      title: { en: "Threads wait", zh: "线程等待" },
      unit: "ms",
      op: ">",
      strength: "direct",
      resource: "cpu",
      use_category: "saturation",
    },
  },
  hosts: names.map((name) => {
    const bad = critical.includes(name);
    const finding = {
      rule: "F-X",
      severity: "critical" as const,
      value: bad ? 44 : 1,
      threshold: 3,
      subject: {},
    };
    return {
      id: name,
      name,
      labels: {},
      state: "active",
      runs: [{ run_id: `run-${name}`, plan: "triage", at: "2026-11-21T02:30:00Z" }],
      worst: bad ? "critical" : null,
      cells: {
        "cpu.saturation": {
          ...finding,
          state: bad ? "matched" : "not_matched",
          subjects: 1,
          run_index: 0,
          evaluated: 1,
          matched: bad ? 1 : 0,
        },
      },
    };
  }),
});

describe("the USE grid", () => {
  it("shows the worst finding of each cell with number, threshold and age, worst hosts first", async () => {
    overrideAnswer(({ path }) =>
      path === "/fleet/use" ? { status: 200, body: small(["a", "b"], ["b"]) } : undefined,
    );
    openScreen("/fleet");
    await grid();
    expect(rowNames()[0]).toMatch(/^b/);
    const cell = screen.getByRole("gridcell", {
      name: /critical · Threads wait · 44\s?ms > 3\s?ms · 10 min/,
    });
    expect(cell).toHaveAttribute("data-look", "critical");
    expect(screen.getByRole("columnheader", { name: "CPU, Saturation" })).toBeVisible();
  });

  it("renders only the visible rows of 500, and reports the row count", async () => {
    openScreen("/fleet");
    const table = await grid();
    expect(Number(table.getAttribute("aria-rowcount"))).toBeGreaterThan(480);
    expect(within(table).getAllByRole("row").length).toBeLessThan(40);
  });

  it("distinguishes unchecked hosts from healthy hosts, and marks stale checks", async () => {
    openScreen("/fleet?sort=age");
    const table = await grid();
    const cells = within(table).getAllByRole("gridcell");
    expect(cells[0]).toHaveAttribute("data-look", "absent");
    expect(cells[0]).toHaveAccessibleName("not checked");
    expect(within(table).getAllByText("never checked").length).toBeGreaterThan(3);
    expect(table.querySelector("[data-stale]")).not.toBeNull();
  });

  it("is navigated with arrow keys; Enter opens the details of a cell, Space selects the host", async () => {
    const user = userEvent.setup();
    const router = openScreen("/fleet?q=feed-fra2");
    const table = await grid();
    table.focus();
    const first = activeCell(table);
    expect(first).toHaveAttribute("role", "gridcell");
    await user.keyboard("{ArrowRight}{ArrowDown}");
    const second = activeCell(table);
    expect(second).not.toBe(first);
    await user.keyboard(" ");
    await waitFor(() => expect(router.state.location.search).toHaveProperty("pick"));
    expect(second?.closest("[role=row]")).toHaveAttribute("aria-selected", "true");
    await user.keyboard("{Enter}");
    const drawer = within(await screen.findByRole("dialog"));
    expect(drawer.getByText(/feed-fra2-\d+ · CPU, Saturation/)).toBeVisible();
    expect(await drawer.findByText("Runnable threads wait for a CPU")).toBeVisible();
    expect(router.state.location.search).toMatchObject({ cell: expect.stringContaining("cpu.saturation") });
  });

  it("keeps its order while new data arrives, until the user sorts again", async () => {
    const user = userEvent.setup();
    let critical = ["a"];
    overrideAnswer(({ path }) =>
      path === "/fleet/use" ? { status: 200, body: small(["a", "b"], critical) } : undefined,
    );
    openScreen("/fleet");
    await grid();
    expect(rowNames()[0]).toMatch(/^a/);
    critical = ["b"];
    await user.click(screen.getByRole("textbox", { name: "Search by name or label" }));
    window.dispatchEvent(new Event("visibilitychange"));
    const renew = await screen.findByRole("button", { name: "Sort again" }, { timeout: 20_000 });
    expect(rowNames()[0]).toMatch(/^a/);
    await user.click(renew);
    await waitFor(() => expect(rowNames()[0]).toMatch(/^b/));
  }, 30_000);

  it("groups by a label, and filters by another without a request", async () => {
    openScreen("/fleet?label=dc&has=role%3Afeed");
    await grid();
    expect(rowNames().some((item) => item.startsWith("dc="))).toBe(true);
    expect(
      sentRequests.filter((request) => request.path === "/fleet/use" && request.query.get("has")),
    ).toEqual([]);
  });

  it("offers actions for the selected hosts: capture, diagnose, compare peers", async () => {
    const user = userEvent.setup();
    overrideAnswer(({ path }) =>
      path === "/fleet/use" ? { status: 200, body: small(["a", "b", "c"], ["b"]) } : undefined,
    );
    const router = openScreen("/fleet?pick=a,b");
    await grid();
    expect(screen.getByRole("button", { name: "Diagnose" })).toBeDisabled();
    await user.click(screen.getByRole("button", { name: "Compare peers" }));
    // The worst host is diagnosed, the other host is its peer.
    await waitFor(() =>
      expect(router.state.location.search).toMatchObject({ dialog: "diagnose", on: "b,a" }),
    );
  });

  it("offers no capture to a viewer", async () => {
    state.role = "viewer";
    openScreen("/fleet");
    await grid();
    expect(screen.queryByRole("button", { name: /capture/i })).toBeNull();
  });

  it("shows an empty state without hosts", async () => {
    state.empty = true;
    openScreen("/fleet");
    expect(await screen.findByText("No hosts yet")).toBeVisible();
  });
});

describe("peers", () => {
  it("lists outliers for each measure, and opens a measure for all groups", async () => {
    const user = userEvent.setup();
    const router = openScreen("/fleet?view=peers");
    expect(await screen.findByRole("heading", { name: "role=feed" })).toBeVisible();
    const [first] = screen.getAllByRole("button", { pressed: false, name: /Runnable threads wait/ });
    await user.click(first as HTMLElement);
    await waitFor(() => expect(router.state.location.search).toHaveProperty("measure"));
    await waitFor(() =>
      expect(sentRequests.some((request) => request.query.get("measure")?.includes("F-CPU-RUNQ-DELAY"))).toBe(
        true,
      ),
    );
  });

  it("requests the label and the freshness in the URL", async () => {
    openScreen("/fleet?view=peers&label=dc&fresh=3600");
    expect(await screen.findByRole("heading", { name: "dc=fra2" })).toBeVisible();
    const [request] = sentRequests.filter((item) => item.path === "/fleet/peers");
    expect([request?.query.get("label"), request?.query.get("within_s")]).toEqual(["dc", "3600"]);
  });
});

describe("the matrix of findings", () => {
  it("lists the findings of the critical hosts that the others do not have", async () => {
    openScreen("/fleet?view=findings");
    expect(await screen.findByRole("grid", { name: "Findings" })).toBeVisible();
    const section = within(screen.getByRole("region", { name: "Distinguishing findings" }));
    expect(section.getByRole("heading", { name: /Findings of the \d+ critical hosts/ })).toBeVisible();
  });

  it("compares selected hosts with all others", async () => {
    const router = openScreen("/fleet?view=use&q=feed-fra2");
    await grid();
    const ids = screen
      .getAllByRole("row")
      .flatMap((row) => row.querySelector("a[href^='/hosts/']")?.getAttribute("href")?.slice(7) ?? []);
    await router.navigate({
      to: "/fleet",
      search: { view: "findings", pick: ids.slice(0, 4).join(",") } as never,
    });
    const section = within(await screen.findByRole("region", { name: "Distinguishing findings" }));
    expect(
      await section.findByRole("heading", {
        name: "Findings of the 4 selected hosts that the others do not have",
      }),
    ).toBeVisible();
    expect(section.getByText(/Runnable threads wait for a CPU: 4 of 4 unhealthy/)).toBeVisible();
  });
});
