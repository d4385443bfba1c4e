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

describe("channels and notifications", () => {
  it("show destinations without secrets", async () => {
    const user = userEvent.setup();
    openScreen("/notifications");
    expect(await screen.findByText("https://chat.example:443")).toBeVisible();
    await user.click(screen.getByRole("button", { name: "Add channel" }));
    const dialog = await screen.findByRole("dialog");
    await user.type(within(dialog).getByLabelText("Name"), "pager");
    await user.type(within(dialog).getByLabelText("Address"), "https://hooks.example/very-secret");
    await user.click(within(dialog).getByRole("button", { name: "Add channel" }));
    expect(await screen.findByText("culprit_hook_once")).toBeVisible();
    expect(screen.queryByText(/very-secret/)).toBeNull();
  });

  it("retry a failed notification", async () => {
    const user = userEvent.setup();
    openScreen("/notifications?part=notifications");
    const row = (await screen.findByText("feed · feed-7: Too many threads")).closest("tr") as HTMLElement;
    expect(row).toHaveTextContent("chat.example responded with HTTP 503");
    await user.click(within(row).getByRole("button", { name: "Try again" }));
    expect(await within(row).findByText("waiting")).toBeVisible();
  });

  it("retry a failed Grafana annotation", async () => {
    const user = userEvent.setup();
    openScreen("/notifications?part=notifications");
    const grid = await screen.findByRole("region", { name: "Failed Grafana annotations" });
    const row = within(grid).getByText("#42 p99 of feed is 2.3 s").closest("tr") as HTMLElement;
    expect(row).toHaveTextContent("grafana.example responded with HTTP 502");
    expect(within(row).getByRole("link", { name: "Incident" })).toBeVisible();
    expect(within(grid).getByRole("link", { name: "Cause, to be deleted" })).toBeVisible();
    await user.click(within(row).getByRole("button", { name: "Try again" }));
    await waitFor(() => expect(row).not.toBeInTheDocument());
    expect(lastBody("POST", /grafana-annotations\/[^/]+\/retry$/)).toEqual({});
  });

  it("retry all failed deliveries of a channel", async () => {
    const user = userEvent.setup();
    openScreen("/notifications");
    const row = (await screen.findByText("graphs")).closest("tr") as HTMLElement;
    await user.click(within(row).getByRole("button", { name: "Retry all" }));
    await waitFor(() => expect(within(row).queryByRole("button", { name: "Retry all" })).toBeNull());
  });
});
