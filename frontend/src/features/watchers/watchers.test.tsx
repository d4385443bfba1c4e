import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it } from "vitest";
import { state } from "../../mock/api";
import { INCIDENTS } from "../../mock/investigations";
import { sent } from "../../mock/msw";
import { standing } from "../../mock/standbys";
import { HOSTS } from "../../mock/world";
import type { ConditionKind } from "../client/standbys";
import { bodiesOf, conditionOf, emptyCondition, emptyDraft } from "../features/standbys/armDraft";
import { conditionText, lastReading } from "../renderers/standbys/conditionText";
import { open } from "../testing/screen";

const first = structuredClone(standing);

afterEach(() => {
  state.role = "admin";
  Object.assign(standing, structuredClone(first));
  sent.length = 0;
});

const lastBody = () => sent.findLast((one) => one.method === "POST" && /standbys$/.test(one.path))?.body;

describe("what waits on hosts", () => {
  it("is listed with its conditions, its cost and what it has started, and can be ended", async () => {
    const user = userEvent.setup();
    open("/triggers?part=armed");
    const table = await screen.findByRole("region", { name: "Armed and look-back" });
    await waitFor(() => expect(table).toHaveTextContent("A unit starts: feed.service"));
    expect(table).toHaveTextContent(/0\.42\s% CPU/);
    expect(within(table).getByRole("link", { name: "#474" })).toBeInTheDocument();
    expect(
      within(table).getByRole("img", { name: /Last readings: Work waits for a resource/ }),
    ).toBeInTheDocument();
    const host = HOSTS[0]?.name;
    await user.click(within(table).getByRole("button", { name: `End #2 on ${host}` }));
    await waitFor(() =>
      expect(within(table).queryByRole("button", { name: `End #2 on ${host}` })).toBeNull(),
    );
    await user.click(screen.getByRole("checkbox", { name: "Also what is over" }));
    expect(await screen.findByText("ended")).toBeInTheDocument();
  });

  it("is armed from the page of its host, with a start and a threshold", async () => {
    const user = userEvent.setup();
    standing.rows = [];
    open(`/hosts/${HOSTS[0]?.id}`);
    await user.click(await screen.findByRole("button", { name: "Arm or keep" }));
    const dialog = await screen.findByRole("dialog");
    const arm = within(dialog).getByRole("button", { name: "Arm" });
    expect(arm).toBeDisabled();
    await user.type(await within(dialog).findByRole("textbox", { name: "Name" }), "feed.service");
    await waitFor(() => expect(arm).toBeEnabled());
    await user.click(arm);
    await waitFor(() =>
      expect(lastBody()).toMatchObject({
        kind: "armed",
        host_id: HOSTS[0]?.id,
        hours: 4,
        conditions: [{ kind: "unit_start", key: "feed.service" }],
        plan: "triage",
        fires_max: 1,
        cooldown_s: 600,
      }),
    );
    expect(await screen.findByText("A unit starts: feed.service")).toBeInTheDocument();
  });

  it("is a ring of so many minutes", async () => {
    const user = userEvent.setup();
    standing.rows = [];
    open(`/hosts/${HOSTS[1]?.id}?dialog=arm&on=${HOSTS[1]?.id}`);
    const dialog = await screen.findByRole("dialog");
    await user.click(within(dialog).getByRole("radio", { name: "Look-back ring" }));
    await user.click(within(dialog).getByRole("button", { name: "Keep" }));
    await waitFor(() => expect(lastBody()).toMatchObject({ kind: "ring", seconds: 600, hours: 4 }));
  });

  it("is armed from an incident, on each of its hosts, as evidence of it", async () => {
    const user = userEvent.setup();
    standing.rows = [];
    open(`/incidents/${INCIDENTS[0]?.id}`);
    await user.click(await screen.findByRole("button", { name: "Arm a capture" }));
    const dialog = await screen.findByRole("dialog", { name: "Arm a capture" });
    expect(dialog).toHaveTextContent("What it captures is evidence of this incident.");
    expect(within(dialog).queryByRole("radio", { name: "Look-back ring" })).toBeNull();
    await user.type(await within(dialog).findByRole("textbox", { name: "Name" }), "feed.service");
    const arm = within(dialog).getByRole("button", { name: "Arm" });
    await waitFor(() => expect(arm).toBeEnabled());
    await user.click(arm);
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    const hosts = INCIDENTS[0]?.hosts.map((one) => one.id) ?? [];
    const bodies = sent.filter((one) => one.method === "POST" && /standbys$/.test(one.path));
    expect(bodies.map((one) => one.body)).toEqual(
      hosts.map((host) => expect.objectContaining({ host_id: host, incident_id: INCIDENTS[0]?.id })),
    );
  });

  it("is nobody's to end who may only look", async () => {
    state.role = "viewer";
    open("/triggers?part=armed");
    const table = await screen.findByRole("region", { name: "Armed and look-back" });
    expect(within(table).queryByRole("button", { name: /^End/ })).toBeNull();
    expect(screen.queryByRole("button", { name: "Arm or keep" })).toBeNull();
  });
});

const KINDS: ConditionKind[] = [
  { kind: "unit_start", title: { en: "", zh: "" }, unit: "", key: "[a-z.]{1,20}", example: "", starts: true },
  { kind: "load1", title: { en: "", zh: "" }, unit: "", key: "", example: "", starts: false },
];

describe("a draft", () => {
  it("is sent when it is whole, and not before", () => {
    const start = { ...emptyCondition(0), key: "feed.service" };
    expect(conditionOf(start, KINDS)).toEqual({ kind: "unit_start", key: "feed.service" });
    expect(conditionOf({ ...start, key: "feed service" }, KINDS)).toBeUndefined();
    const load = { ...emptyCondition(1), kind: "load1" };
    expect(conditionOf(load, KINDS)).toBeUndefined();
    expect(conditionOf({ ...load, limit: 20 }, KINDS)).toMatchObject({ limit: 20, hits: 3, of: 5 });
    expect(conditionOf({ ...load, limit: 20, hits: 6 }, KINDS)).toBeUndefined();
    expect(bodiesOf({ ...emptyDraft(["h"]), hours: 25, conditions: [start] }, KINDS)).toBeUndefined();
    expect(bodiesOf({ ...emptyDraft([]), conditions: [start] }, KINDS)).toBeUndefined();
    expect(bodiesOf({ ...emptyDraft(["h"]), kind: "ring", minutes: 31 }, KINDS)).toBeUndefined();
    const two = bodiesOf({ ...emptyDraft(["a", "b"]), conditions: [start] }, KINDS, "i");
    expect(two?.map((one) => [one.host_id, one.incident_id])).toEqual([
      ["a", "i"],
      ["b", "i"],
    ]);
    const ring = bodiesOf({ ...emptyDraft(["h"]), kind: "ring" }, KINDS, "i");
    expect(ring?.[0]).not.toHaveProperty("incident_id");
  });
});

describe("a condition", () => {
  it("is told with its unit, and no reading is not zero", () => {
    const one = { kind: "x", key: "io.some", op: "over", limit: 20, hits: 3, of: 5 } as const;
    expect(conditionText({ ...one, unit: "pct", starts: false }, "PSI")).toBe(
      "PSI: io.some ≥ 20\u2009% (3/5)",
    );
    expect(lastReading([1, null], "pct")).toBe("–");
    expect(lastReading([], "pct")).toBe("–");
  });
});
