import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { sent } from "../../mock/msw";
import { resetSchedules, withRotation } from "../../mock/schedules";
import { state, USERS } from "../../mock/state";
import { open } from "../testing/screen";

beforeEach(resetSchedules);
afterEach(() => {
  state.role = "admin";
  resetSchedules();
});

describe("on call", () => {
  it("says what to do where nobody is, and leaves the head of the screen alone", async () => {
    open("/oncall");
    expect(await screen.findByText("Nobody is on call")).toBeVisible();
    expect(screen.queryByRole("link", { name: /On call:/ })).toBeNull();
  });

  it("stands in the head of every screen", async () => {
    withRotation();
    open("/captures");
    const link = await screen.findByRole("link", { name: `On call: ${USERS[0]!.name}` });
    expect(link).toHaveAttribute("href", "/oncall");
  });

  it("says when nobody is", async () => {
    withRotation({ now: [] });
    open("/captures");
    expect(await screen.findByRole("link", { name: "On call: nobody" })).toBeVisible();
  });

  it("shows who is on call, who is next, and what a name from elsewhere lacks", async () => {
    const stranger = {
      start: "2026-11-20T09:00:00Z",
      end: null,
      who: "Zed",
      person: null,
      how: "calendar",
      level: 2,
    } as const;
    withRotation({
      kind: "calendar",
      source: { server: "https://calendar.example" },
      has_secret: true,
      now: [stranger],
      failure: { key: "oncall.no_calendar", params: {} },
    });
    open("/oncall");
    expect(await screen.findByText("no account by that name")).toBeVisible();
    expect(screen.getByText("level 2")).toBeVisible();
    expect(screen.getByText(/This is no iCalendar/)).toBeVisible();
    expect(screen.getByText(/Calendar from https:\/\/calendar.example/)).toBeVisible();
    expect(screen.getByRole("button", { name: "Fetch now" })).toBeVisible();
  });

  it("is taken over by oneself unless somebody else is chosen", async () => {
    const user = userEvent.setup();
    withRotation();
    open("/oncall");
    await user.click(await screen.findByRole("button", { name: "Take over" }));
    const dialog = await screen.findByRole("dialog");
    await user.click(within(dialog).getByRole("button", { name: "Take over" }));
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    const body = sent.find((one) => one.method === "POST" && one.path.endsWith("/overrides"))?.body;
    expect(body).toMatchObject({ reason: "" });
    expect(await screen.findByText("takes over")).toBeVisible();
  });

  it("is made of people in turn, or of a file", async () => {
    const user = userEvent.setup();
    open("/oncall?act=add");
    const dialog = await screen.findByRole("dialog");
    await user.type(within(dialog).getByLabelText("Name"), "secondary");
    expect(within(dialog).getByRole("button", { name: "Add a rotation" })).toBeDisabled();
    await user.click(within(dialog).getByRole("radio", { name: "Calendar" }));
    expect(within(dialog).getByText(/Kept like a password/)).toBeVisible();
    await user.click(within(dialog).getByRole("button", { name: "Add a rotation" }));
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    const body = sent.find((one) => one.method === "POST" && one.path === "/rotations")?.body;
    expect(body).toMatchObject({ name: "secondary", origin: { kind: "calendar" } });
    expect(body).not.toHaveProperty("origin.url");
  });
});
