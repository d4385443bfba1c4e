import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { resetEvents, told } from "../../mock/events";
import { sent } from "../../mock/msw";
import { state } from "../../mock/state";
import { HOSTS } from "../../mock/world";
import { bodyOf, changes, complete, draftOf, wrong } from "../features/events/eventDraft";
import { open } from "../testing/screen";

const last = (method: string, path: string) =>
  sent.filter((one) => one.method === method && one.path === path).at(-1)?.body;
const [DEPLOY, CONFIG] = told.events as [(typeof told.events)[0], (typeof told.events)[0]];

beforeEach(() => {
  resetEvents();
  state.hosts = HOSTS.slice(0, 3);
});
afterEach(() => {
  state.role = "admin";
  state.empty = false;
  state.hosts = [...HOSTS];
});

describe("what is sent", () => {
  it("is only what was changed", () => {
    const draft = draftOf(DEPLOY);
    expect(changes(draft, DEPLOY)).toEqual({});
    expect(changes({ ...draft, until: "", link: "" }, DEPLOY)).toEqual({ until: null, link: null });
    expect(changes({ ...draft, place: "everywhere" }, DEPLOY)).toEqual({ everywhere: true });
  });

  it("names the hosts in one way", () => {
    expect(bodyOf(draftOf(CONFIG))).toMatchObject({ hosts: [HOSTS[0]!.id] });
    expect(bodyOf(draftOf(DEPLOY))).toMatchObject({ service: "feed" });
    expect(bodyOf({ ...draftOf(DEPLOY), place: "labels", labels: ["role=feed"] })).toMatchObject({
      labels: { role: "feed" },
    });
  });

  it("is refused before it is sent where it makes no sense", () => {
    const draft = draftOf(CONFIG);
    expect(complete(draft)).toBe(true);
    expect(wrong({ ...draft, link: "javascript:alert(1)" })).toEqual({ link: "events.linkBad" });
    expect(wrong({ ...draft, kind: "<b>" })).toEqual({ kind: "events.kindBad" });
    expect(wrong({ ...draft, until: draft.at })).toEqual({ until: "events.untilBad" });
    expect(complete({ ...draft, hosts: [] })).toBe(false);
    expect(complete({ ...draft, what: "  " })).toBe(false);
  });
});

describe("events", () => {
  it("say what to do where nothing was told", async () => {
    state.empty = true;
    open("/events");
    expect(await screen.findByText("Nothing was told yet")).toBeVisible();
    expect(screen.getByRole("button", { name: "Tell an event" })).toBeVisible();
  });

  it("are listed with who told them, as text, and withdrawn ones on demand", async () => {
    const user = userEvent.setup();
    open("/events");
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
    await user.click(screen.getByRole("switch", { name: "With withdrawn ones" }));
    expect(await screen.findByText("Load test begins")).toBeVisible();
    expect(screen.queryByRole("button", { name: "Withdraw Load test begins" })).toBeNull();
  });

  it("are corrected and withdrawn by who may", async () => {
    const user = userEvent.setup();
    open("/events");
    await user.click(await screen.findByRole("button", { name: "Correct feed 4f2a" }));
    const dialog = await screen.findByRole("dialog");
    const what = within(dialog).getByLabelText(/What happened/);
    await user.clear(what);
    await user.type(what, "feed 4f2b");
    await user.click(within(dialog).getByRole("button", { name: "Save" }));
    expect(await screen.findByText("feed 4f2b")).toBeVisible();
    expect(last("PATCH", `/events/${DEPLOY.id}`)).toEqual({ what: "feed 4f2b" });
    await user.click(screen.getByRole("button", { name: "Withdraw feed 4f2b" }));
    expect(await screen.findByText(CONFIG.what)).toBeVisible();
    expect(screen.queryByText("feed 4f2b")).toBeNull();
  });

  it("offer nothing to who may only read", async () => {
    state.role = "viewer";
    open("/events");
    await screen.findByText(CONFIG.what);
    expect(screen.queryByRole("button", { name: /Tell|Correct|Withdraw/ })).toBeNull();
  });

  it("are told of the host that one looks at, and stand on its timeline", async () => {
    const user = userEvent.setup();
    const host = HOSTS[0]!;
    open(`/hosts/${host.id}`);
    await user.click(await screen.findByRole("button", { name: "Annotate" }));
    const dialog = await screen.findByRole("dialog");
    await user.type(within(dialog).getByLabelText(/What happened/), "rebooted");
    await user.click(within(dialog).getByRole("button", { name: "Tell an event" }));
    expect(last("POST", "/events")).toMatchObject({ kind: "note", what: "rebooted", hosts: [host.id] });
  });
});
