import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it } from "vitest";
import { state } from "../../../mock/api";
import { mockAlerting } from "../../../mock/automation/triggers";
import { sentRequests } from "../../../mock/server/msw";
import { openScreen } from "../../testing/screen";

const first = structuredClone(mockAlerting);

afterEach(() => {
  state.role = "admin";
  Object.assign(mockAlerting, structuredClone(first));
  sentRequests.length = 0;
});

const lastBody = (method: string, path: RegExp) =>
  sentRequests.findLast((request) => request.method === method && path.test(request.path))?.body;

describe("the kill switch", () => {
  it("is activated for all hosts from any screen, and displayed until it is deactivated", async () => {
    const user = userEvent.setup();
    openScreen("/hosts");
    await user.click(await screen.findByRole("button", { name: "Kill switch" }));
    const dialog = await screen.findByRole("dialog");
    await user.click(within(dialog).getByRole("button", { name: "Stop all hosts now" }));
    const band = await screen.findByRole("alert");
    expect(band).toHaveTextContent("Kill switch: nothing startsall hosts");
    expect(lastBody("POST", /kill-switches$/)).toEqual({ kind: "everywhere", reason: "", cancel: true });
    await user.click(within(band).getByRole("button", { name: "Deactivate the kill switch: all hosts" }));
    await waitFor(() => expect(screen.queryByRole("alert")).toBeNull());
  });

  it("is activated for a label with a reason", async () => {
    const user = userEvent.setup();
    openScreen("/hosts");
    await user.click(await screen.findByRole("button", { name: "Kill switch" }));
    const dialog = await screen.findByRole("dialog");
    await user.click(within(dialog).getByRole("radio", { name: "Hosts with a label" }));
    const stop = within(dialog).getByRole("button", { name: "Stop these hosts now" });
    expect(stop).toBeDisabled();
    await user.type(within(dialog).getByRole("textbox", { name: "Hosts with a label" }), "role=feed");
    await user.type(within(dialog).getByRole("textbox", { name: "Reason" }), "overload");
    await user.click(stop);
    expect(await screen.findByRole("alert")).toHaveTextContent("role=feed: overload");
  });

  it("is visible to every user and deactivated by admins only", async () => {
    state.role = "viewer";
    mockAlerting.switches = [
      {
        id: "s",
        kind: "host",
        host: { id: "h", name: "feed-7" },
        label: null,
        reason: "",
        activated_by: { id: "u", name: "lena" },
        created_at: "2026-11-21T02:14:00Z",
        deactivated_at: null,
        deactivated_by: null,
        canceled: 0,
      },
    ];
    openScreen("/captures");
    expect(await screen.findByRole("alert")).toHaveTextContent("feed-7");
    expect(screen.queryByRole("button", { name: /Deactivate/ })).toBeNull();
    expect(screen.queryByRole("button", { name: "Kill switch" })).toBeNull();
  });
});
