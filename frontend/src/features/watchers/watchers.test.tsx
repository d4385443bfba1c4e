import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it } from "vitest";
import { state } from "../../../mock/api";
import { mockWatchers } from "../../../mock/automation/watchers";
import { HOSTS } from "../../../mock/dataset";
import { INCIDENTS } from "../../../mock/incidents/investigations";
import { sentRequests } from "../../../mock/server/msw";
import type { ConditionKind } from "../../client/models";
import { openScreen } from "../../testing/screen";
import { conditionText, lastReading } from "../../widgets/watchers/conditionText";
import { emptyCondition, emptyDraft, toCondition, toWatcherBodies } from "./watcherDraft";

const first = structuredClone(mockWatchers);

afterEach(() => {
  state.role = "admin";
  Object.assign(mockWatchers, structuredClone(first));
  sentRequests.length = 0;
});

const lastBody = () =>
  sentRequests.findLast((request) => request.method === "POST" && /watchers$/.test(request.path))?.body;

describe("a watcher", () => {
  it("is listed with its conditions, its cost and its captures, and can be stopped", async () => {
    const user = userEvent.setup();
    openScreen("/triggers?part=watchers");
    const table = await screen.findByRole("region", { name: "Watchers" });
    await waitFor(() => expect(table).toHaveTextContent("A unit starts: feed.service"));
    expect(table).toHaveTextContent(/0\.42\s% CPU/);
    expect(within(table).getByRole("link", { name: "#474" })).toBeInTheDocument();
    expect(
      within(table).getByRole("img", { name: /Last readings: Work waits for a resource/ }),
    ).toBeInTheDocument();
    const host = HOSTS[0]?.name;
    await user.click(within(table).getByRole("button", { name: `Stop #2 on ${host}` }));
    await waitFor(() =>
      expect(within(table).queryByRole("button", { name: `Stop #2 on ${host}` })).toBeNull(),
    );
    await user.click(screen.getByRole("checkbox", { name: "Show ended watchers" }));
    expect(await screen.findByText("ended")).toBeInTheDocument();
  });

  it("is created from the page of its host as a conditional capture", async () => {
    const user = userEvent.setup();
    mockWatchers.rows = [];
    openScreen(`/hosts/${HOSTS[0]?.id}`);
    await user.click(await screen.findByRole("button", { name: "Create watcher" }));
    const dialog = await screen.findByRole("dialog");
    const arm = within(dialog).getByRole("button", { name: "Create conditional capture" });
    expect(arm).toBeDisabled();
    await user.type(await within(dialog).findByRole("textbox", { name: "Name" }), "feed.service");
    await waitFor(() => expect(arm).toBeEnabled());
    await user.click(arm);
    await waitFor(() =>
      expect(lastBody()).toMatchObject({
        kind: "conditional",
        host_id: HOSTS[0]?.id,
        hours: 4,
        conditions: [{ kind: "unit_start", key: "feed.service" }],
        plan: "triage",
        max_captures: 1,
        cooldown_s: 600,
      }),
    );
    expect(await screen.findByText("A unit starts: feed.service")).toBeInTheDocument();
  });

  it("is created as a look-back buffer with a length", async () => {
    const user = userEvent.setup();
    mockWatchers.rows = [];
    openScreen(`/hosts/${HOSTS[1]?.id}?dialog=arm&on=${HOSTS[1]?.id}`);
    const dialog = await screen.findByRole("dialog");
    await user.click(within(dialog).getByRole("radio", { name: "Look-back buffer" }));
    await user.click(within(dialog).getByRole("button", { name: "Create look-back buffer" }));
    await waitFor(() => expect(lastBody()).toMatchObject({ kind: "lookback", seconds: 600, hours: 4 }));
  });

  it("is created from an incident on each of its hosts", async () => {
    const user = userEvent.setup();
    mockWatchers.rows = [];
    openScreen(`/incidents/${INCIDENTS[0]?.id}`);
    await user.click(await screen.findByRole("button", { name: "Create conditional capture" }));
    const dialog = await screen.findByRole("dialog", { name: "Create conditional capture" });
    expect(dialog).toHaveTextContent("Its captures become evidence of this incident.");
    expect(within(dialog).queryByRole("radio", { name: "Look-back buffer" })).toBeNull();
    await user.type(await within(dialog).findByRole("textbox", { name: "Name" }), "feed.service");
    const arm = within(dialog).getByRole("button", { name: "Create conditional capture" });
    await waitFor(() => expect(arm).toBeEnabled());
    await user.click(arm);
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    const hosts = INCIDENTS[0]?.hosts.map((host) => host.id) ?? [];
    const bodies = sentRequests.filter(
      (request) => request.method === "POST" && /watchers$/.test(request.path),
    );
    expect(bodies.map((request) => request.body)).toEqual(
      hosts.map((host) => expect.objectContaining({ host_id: host, incident_id: INCIDENTS[0]?.id })),
    );
  });

  it("cannot be stopped by a viewer", async () => {
    state.role = "viewer";
    openScreen("/triggers?part=watchers");
    const table = await screen.findByRole("region", { name: "Watchers" });
    expect(within(table).queryByRole("button", { name: /^Stop/ })).toBeNull();
    expect(screen.queryByRole("button", { name: "Create watcher" })).toBeNull();
  });
});

const KINDS: ConditionKind[] = [
  {
    kind: "unit_start",
    title: { en: "", zh: "" },
    unit: "",
    key: "[a-z.]{1,20}",
    example: "",
    is_start: true,
  },
  { kind: "load1", title: { en: "", zh: "" }, unit: "", key: "", example: "", is_start: false },
];

describe("the draft of a watcher", () => {
  it("has a request body only when it is complete", () => {
    const start = { ...emptyCondition(0), key: "feed.service" };
    expect(toCondition(start, KINDS)).toEqual({ kind: "unit_start", key: "feed.service" });
    expect(toCondition({ ...start, key: "feed service" }, KINDS)).toBeUndefined();
    const load = { ...emptyCondition(1), kind: "load1" };
    expect(toCondition(load, KINDS)).toBeUndefined();
    expect(toCondition({ ...load, limit: 20 }, KINDS)).toMatchObject({
      limit: 20,
      required_hits: 3,
      window_readings: 5,
    });
    expect(toCondition({ ...load, limit: 20, required_hits: 6 }, KINDS)).toBeUndefined();
    expect(toWatcherBodies({ ...emptyDraft(["h"]), hours: 25, conditions: [start] }, KINDS)).toBeUndefined();
    expect(toWatcherBodies({ ...emptyDraft([]), conditions: [start] }, KINDS)).toBeUndefined();
    expect(toWatcherBodies({ ...emptyDraft(["h"]), kind: "lookback", minutes: 31 }, KINDS)).toBeUndefined();
    const two = toWatcherBodies({ ...emptyDraft(["a", "b"]), conditions: [start] }, KINDS, "i");
    expect(two).toMatchObject([
      { host_id: "a", incident_id: "i" },
      { host_id: "b", incident_id: "i" },
    ]);
    const ring = toWatcherBodies({ ...emptyDraft(["h"]), kind: "lookback" }, KINDS, "i");
    expect(ring?.[0]).not.toHaveProperty("incident_id");
  });
});

describe("a condition", () => {
  it("is displayed with its unit, and a missing reading as –", () => {
    const item = {
      kind: "stall_pct",
      key: "io.some",
      op: "over",
      limit: 20,
      required_hits: 3,
      window_readings: 5,
    } as const;
    expect(conditionText({ ...item, unit: "pct", is_start: false }, "PSI")).toBe(
      "PSI: io.some ≥ 20\u2009% (3/5)",
    );
    expect(lastReading([1, null], "pct")).toBe("–");
    expect(lastReading([], "pct")).toBe("–");
  });
});
