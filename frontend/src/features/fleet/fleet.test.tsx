import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it } from "vitest";
import { state } from "../../mock/api";
import { answerInstead, sent } from "../../mock/msw";
import type { FleetUse } from "../client/types";
import { open } from "../testing/screen";

afterEach(() => {
  state.role = "admin";
  state.empty = false;
});

const grid = async () => await screen.findByRole("grid", { name: "USE grid" });
const rowNames = () => screen.getAllByRole("rowheader").map((one) => one.textContent ?? "");
/** The cell that the grid says its keys are at. */
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
      grade: "direct",
      resource: "cpu",
      letter: "saturation",
    },
  },
  hosts: names.map((name) => {
    const bad = critical.includes(name);
    const word = {
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
      looks: [{ run_id: `run-${name}`, plan: "triage", at: "2026-11-21T02:30:00Z" }],
      worst: bad ? "critical" : null,
      cells: {
        "cpu.saturation": {
          ...word,
          state: bad ? "fired" : "quiet",
          subjects: 1,
          look: 0,
          said: 1,
          fired: bad ? 1 : 0,
        },
      },
    };
  }),
});

describe("the USE grid", () => {
  it("tells the worst of each cell with its number, its threshold and its age, worst hosts first", async () => {
    answerInstead(({ path }) =>
      path === "/fleet/use" ? { status: 200, body: small(["a", "b"], ["b"]) } : undefined,
    );
    open("/fleet");
    await grid();
    expect(rowNames()[0]).toMatch(/^b/);
    const cell = screen.getByRole("gridcell", {
      name: /critical · Threads wait · 44\s?ms > 3\s?ms · 10 min/,
    });
    expect(cell).toHaveAttribute("data-look", "critical");
    expect(screen.getByRole("columnheader", { name: "CPU, Saturation" })).toBeVisible();
  });

  it("draws only the rows in view of 500, and says how many there are", async () => {
    open("/fleet");
    const found = await grid();
    expect(Number(found.getAttribute("aria-rowcount"))).toBeGreaterThan(480);
    expect(within(found).getAllByRole("row").length).toBeLessThan(40);
  });

  it("never shows as well what nobody looked at, nor hides that a look is old", async () => {
    open("/fleet?sort=age");
    const found = await grid();
    const cells = within(found).getAllByRole("gridcell");
    expect(cells[0]).toHaveAttribute("data-look", "absent");
    expect(cells[0]).toHaveAccessibleName("not looked at");
    expect(within(found).getAllByText("never looked at").length).toBeGreaterThan(3);
    expect(found.querySelector("[data-stale]")).not.toBeNull();
  });

  it("is walked with arrow keys; Enter opens what stands behind a cell, Space chooses the host", async () => {
    const user = userEvent.setup();
    const router = open("/fleet?q=feed-fra2");
    const found = await grid();
    found.focus();
    const first = activeCell(found);
    expect(first).toHaveAttribute("role", "gridcell");
    await user.keyboard("{ArrowRight}{ArrowDown}");
    const second = activeCell(found);
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

  it("keeps its order while news come in, until somebody asks for the new one", async () => {
    const user = userEvent.setup();
    let critical = ["a"];
    answerInstead(({ path }) =>
      path === "/fleet/use" ? { status: 200, body: small(["a", "b"], critical) } : undefined,
    );
    open("/fleet");
    await grid();
    expect(rowNames()[0]).toMatch(/^a/);
    critical = ["b"];
    await user.click(screen.getByRole("textbox", { name: "Search by name or label" }));
    window.dispatchEvent(new Event("visibilitychange"));
    const renew = await screen.findByRole("button", { name: "Put in order again" }, { timeout: 20_000 });
    expect(rowNames()[0]).toMatch(/^a/);
    await user.click(renew);
    await waitFor(() => expect(rowNames()[0]).toMatch(/^b/));
  }, 30_000);

  it("groups by a label, and filters by another without asking again", async () => {
    open("/fleet?label=dc&has=role%3Afeed");
    await grid();
    expect(rowNames().some((one) => one.startsWith("dc="))).toBe(true);
    expect(sent.filter((one) => one.path === "/fleet/use" && one.query.get("has"))).toEqual([]);
  });

  it("offers what can be done with the chosen: capture, diagnose one, compare twins", async () => {
    const user = userEvent.setup();
    answerInstead(({ path }) =>
      path === "/fleet/use" ? { status: 200, body: small(["a", "b", "c"], ["b"]) } : undefined,
    );
    const router = open("/fleet?pick=a,b");
    await grid();
    expect(screen.getByRole("button", { name: "Diagnose" })).toBeDisabled();
    await user.click(screen.getByRole("button", { name: "Compare twins" }));
    // The worst is asked, the other is its twin.
    await waitFor(() =>
      expect(router.state.location.search).toMatchObject({ dialog: "diagnose", on: "b,a" }),
    );
  });

  it("offers nothing that touches a host to a viewer", async () => {
    state.role = "viewer";
    open("/fleet");
    await grid();
    expect(screen.queryByRole("button", { name: /capture/i })).toBeNull();
  });

  it("without hosts says what to do", async () => {
    state.empty = true;
    open("/fleet");
    expect(await screen.findByText("No hosts yet")).toBeVisible();
  });
});

describe("peers", () => {
  it("names the odd one out, measure by measure, and opens one measure for all", async () => {
    const user = userEvent.setup();
    const router = open("/fleet?view=peers");
    expect(await screen.findByRole("heading", { name: "role=feed" })).toBeVisible();
    const [first] = screen.getAllByRole("button", { pressed: false, name: /Runnable threads wait/ });
    await user.click(first as HTMLElement);
    await waitFor(() => expect(router.state.location.search).toHaveProperty("measure"));
    await waitFor(() =>
      expect(sent.some((one) => one.query.get("measure")?.includes("F-CPU-RUNQ-DELAY"))).toBe(true),
    );
  });

  it("asks for the label and the freshness of the address", async () => {
    open("/fleet?view=peers&label=dc&fresh=3600");
    expect(await screen.findByRole("heading", { name: "dc=fra2" })).toBeVisible();
    const [asked] = sent.filter((one) => one.path === "/fleet/peers");
    expect([asked?.query.get("label"), asked?.query.get("within_s")]).toEqual(["dc", "3600"]);
  });
});

describe("the matrix of findings", () => {
  it("says what the critical hosts have in common and the others have not", async () => {
    open("/fleet?view=findings");
    expect(await screen.findByRole("grid", { name: "Findings" })).toBeVisible();
    const told = within(screen.getByRole("region", { name: "What tells them apart" }));
    expect(told.getByRole("heading", { name: /What the \d+ critical hosts have/ })).toBeVisible();
  });

  it("compares the chosen with the others where somebody chose", async () => {
    const router = open("/fleet?view=use&q=feed-fra2");
    await grid();
    const ids = screen
      .getAllByRole("row")
      .flatMap((row) => row.querySelector("a[href^='/hosts/']")?.getAttribute("href")?.slice(7) ?? []);
    await router.navigate({
      to: "/fleet",
      search: { view: "findings", pick: ids.slice(0, 4).join(",") } as never,
    });
    const told = within(await screen.findByRole("region", { name: "What tells them apart" }));
    expect(
      await told.findByRole("heading", { name: "What the 4 chosen hosts have and the others have not" }),
    ).toBeVisible();
    expect(told.getByText(/Runnable threads wait for a CPU: 4 of 4 bad/)).toBeVisible();
  });
});
