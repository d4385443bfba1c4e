import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { resetSchedules, setRotation } from "../../../mock/automation/schedules";
import { sentRequests } from "../../../mock/server/msw";
import { state, USERS } from "../../../mock/server/state";
import { openScreen } from "../../testing/screen";

beforeEach(resetSchedules);
afterEach(() => {
  state.role = "admin";
  resetSchedules();
});

describe("on call", () => {
  it("shows an empty state without a rotation, and nothing in the header", async () => {
    openScreen("/oncall");
    expect(await screen.findByText("No rotations yet")).toBeVisible();
    expect(screen.queryByRole("link", { name: /On call:/ })).toBeNull();
  });

  it("is displayed in the header of every screen", async () => {
    setRotation();
    openScreen("/captures");
    const link = await screen.findByRole("link", { name: `On call: ${USERS[0]!.name}` });
    expect(link).toHaveAttribute("href", "/oncall");
  });

  it("shows when no user is on call", async () => {
    setRotation({ now: [] });
    openScreen("/captures");
    expect(await screen.findByRole("link", { name: "On call: none" })).toBeVisible();
  });

  it("shows a calendar's error, and a name without an account", async () => {
    const stranger = {
      start: "2026-11-20T09:00:00Z",
      end: null,
      who: "Zed",
      person: null,
      source: "calendar",
      level: 2,
    } as const;
    setRotation({
      kind: "calendar",
      source: { server: "https://calendar.example" },
      has_secret: true,
      now: [stranger],
      failure: { key: "oncall.no_calendar", params: {} },
    });
    openScreen("/oncall");
    expect(await screen.findByText("no account with this name")).toBeVisible();
    expect(screen.getByText("level 2")).toBeVisible();
    expect(screen.getByText(/This is not an iCalendar file/)).toBeVisible();
    expect(screen.getByText(/Calendar from https:\/\/calendar.example/)).toBeVisible();
    expect(screen.getByRole("button", { name: "Fetch now" })).toBeVisible();
  });

  it("is overridden by the signed-in user by default", async () => {
    const user = userEvent.setup();
    setRotation();
    openScreen("/oncall");
    await user.click(await screen.findByRole("button", { name: "Add override" }));
    const dialog = await screen.findByRole("dialog");
    await user.click(within(dialog).getByRole("button", { name: "Add override" }));
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    const body = sentRequests.find(
      (request) => request.method === "POST" && request.path.endsWith("/overrides"),
    )?.body;
    expect(body).toMatchObject({ reason: "" });
    expect(await screen.findByText("override")).toBeVisible();
  });

  it("creates a calendar rotation without a URL", async () => {
    const user = userEvent.setup();
    openScreen("/oncall?dialog=add");
    const dialog = await screen.findByRole("dialog");
    await user.type(within(dialog).getByLabelText("Name"), "secondary");
    expect(within(dialog).getByRole("button", { name: "Add rotation" })).toBeDisabled();
    await user.click(within(dialog).getByRole("radio", { name: "Calendar" }));
    expect(within(dialog).getByText(/Stored encrypted/)).toBeVisible();
    await user.click(within(dialog).getByRole("button", { name: "Add rotation" }));
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    const body = sentRequests.find(
      (request) => request.method === "POST" && request.path === "/rotations",
    )?.body;
    expect(body).toMatchObject({ name: "secondary", source: { kind: "calendar" } });
    expect(body).not.toHaveProperty("source.url");
  });
});
