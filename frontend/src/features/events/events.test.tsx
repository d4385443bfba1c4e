import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { mockEvents, resetEvents } from "../../../mock/captures/events";
import { HOSTS } from "../../../mock/dataset";
import { sentRequests } from "../../../mock/server/msw";
import { state } from "../../../mock/server/state";
import { openScreen } from "../../testing/screen";
import { findInvalidFields, isEventComplete, toEventBody, toEventDraft, toEventUpdate } from "./eventDraft";

const last = (method: string, path: string) =>
  sentRequests.filter((request) => request.method === method && request.path === path).at(-1)?.body;
const [DEPLOY, CONFIG] = mockEvents.events as [(typeof mockEvents.events)[0], (typeof mockEvents.events)[0]];

beforeEach(() => {
  resetEvents();
  state.hosts = HOSTS.slice(0, 3);
});
afterEach(() => {
  state.role = "admin";
  state.empty = false;
  state.hosts = [...HOSTS];
});

describe("event request", () => {
  it("contains only changed fields", () => {
    const draft = toEventDraft(DEPLOY);
    expect(toEventUpdate(draft, DEPLOY)).toEqual({});
    expect(toEventUpdate({ ...draft, until: "", link: "" }, DEPLOY)).toEqual({ until: null, link: null });
    expect(toEventUpdate({ ...draft, target: "everywhere" }, DEPLOY)).toEqual({ everywhere: true });
  });

  it("contains only the fields of the selected target", () => {
    expect(toEventBody(toEventDraft(CONFIG))).toMatchObject({ hosts: [HOSTS[0]!.id] });
    expect(toEventBody(toEventDraft(DEPLOY))).toMatchObject({ service: "feed" });
    expect(toEventBody({ ...toEventDraft(DEPLOY), target: "labels", labels: ["role=feed"] })).toMatchObject({
      labels: { role: "feed" },
    });
  });

  it("is validated before it is sent", () => {
    const draft = toEventDraft(CONFIG);
    expect(isEventComplete(draft)).toBe(true);
    expect(findInvalidFields({ ...draft, link: "javascript:alert(1)" })).toEqual({ link: "events.linkBad" });
    expect(findInvalidFields({ ...draft, kind: "<b>" })).toEqual({ kind: "events.kindBad" });
    expect(findInvalidFields({ ...draft, until: draft.at })).toEqual({ until: "events.untilBad" });
    expect(isEventComplete({ ...draft, hosts: [] })).toBe(false);
    expect(isEventComplete({ ...draft, what: "  " })).toBe(false);
  });
});

describe("events", () => {
  it("shows an empty state", async () => {
    state.empty = true;
    openScreen("/events");
    expect(await screen.findByText("No events reported yet")).toBeVisible();
    expect(screen.getByRole("button", { name: "Report event" })).toBeVisible();
  });

  it("lists events with their reporter as text, and withdrawn events on request", async () => {
    const user = userEvent.setup();
    openScreen("/events");
    const row = (await screen.findByText(CONFIG.what)).closest("tr") as HTMLElement;
    expect(row).toHaveTextContent("<b>by hand</b>");
    expect(within(row).getByRole("link", { name: HOSTS[0]!.name })).toBeVisible();
    const deploy = screen.getByText("feed 4f2a", { selector: "span" }).closest("tr") as HTMLElement;
    expect(deploy).toHaveTextContent("and 163 more");
    expect(within(deploy).getByRole("link", { name: "More" })).toHaveAttribute(
      "rel",
      "noreferrer noopener nofollow",
    );
    expect(screen.queryByText("Load test begins")).toBeNull();
    await user.click(screen.getByRole("switch", { name: "Show withdrawn" }));
    expect(await screen.findByText("Load test begins")).toBeVisible();
    expect(screen.queryByRole("button", { name: "Withdraw Load test begins" })).toBeNull();
  });

  it("edits and withdraws events", async () => {
    const user = userEvent.setup();
    openScreen("/events");
    await user.click(await screen.findByRole("button", { name: "Edit feed 4f2a" }));
    const dialog = await screen.findByRole("dialog");
    const what = within(dialog).getByLabelText(/What happened/);
    await user.clear(what);
    await user.type(what, "feed 4f2b");
    await user.click(within(dialog).getByRole("button", { name: "Save" }));
    expect(await screen.findByText("feed 4f2b")).toBeVisible();
    expect(last("PATCH", `/reported-events/${DEPLOY.id}`)).toEqual({ what: "feed 4f2b" });
    await user.click(screen.getByRole("button", { name: "Withdraw feed 4f2b" }));
    expect(await screen.findByText(CONFIG.what)).toBeVisible();
    expect(screen.queryByText("feed 4f2b")).toBeNull();
  });

  it("hides actions without permission", async () => {
    state.role = "viewer";
    openScreen("/events");
    await screen.findByText(CONFIG.what);
    expect(screen.queryByRole("button", { name: /Report|Edit|Withdraw/ })).toBeNull();
  });

  it("reports an event for the open host", async () => {
    const user = userEvent.setup();
    const host = HOSTS[0]!;
    openScreen(`/hosts/${host.id}`);
    await user.click(await screen.findByRole("button", { name: "Report event" }));
    const dialog = await screen.findByRole("dialog");
    await user.type(within(dialog).getByLabelText(/What happened/), "rebooted");
    await user.click(within(dialog).getByRole("button", { name: "Report event" }));
    expect(last("POST", "/reported-events")).toMatchObject({
      kind: "note",
      what: "rebooted",
      hosts: [host.id],
    });
  });
});
