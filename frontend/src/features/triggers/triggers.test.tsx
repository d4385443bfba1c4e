import { screen, within } from "@testing-library/react";
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

describe("triggers", () => {
  it("show received alerts by state, and the last rejected request", async () => {
    openScreen("/triggers");
    const row = (await screen.findByRole("button", { name: "alertmanager of dc1" })).closest("tr");
    expect(row).toHaveTextContent("999 joined");
    expect(row).toHaveTextContent("The token of the request is missing or wrong.");
    expect(row).toHaveTextContent("on-call chat");
  });

  it("are created, and show their secret once with an example request", async () => {
    const user = userEvent.setup();
    openScreen("/triggers");
    await user.click(await screen.findByRole("button", { name: "Add trigger" }));
    const dialog = await screen.findByRole("dialog");
    await user.type(within(dialog).getByLabelText("Name"), "grafana");
    await user.click(within(dialog).getByRole("button", { name: "Add trigger" }));
    expect(await within(dialog).findByText("culprit_trigger_once")).toBeVisible();
    expect(within(dialog).getByText(/curl -H 'Authorization: Bearer culprit_trigger_once'/)).toBeVisible();
    expect(lastBody("POST", /triggers$/)).toMatchObject({
      name: "grafana",
      kind: "alertmanager",
      proof: "token",
      options: { peers: 2, cooldown_s: 1800 },
    });
  });

  it("are tested with labels, and show the host and its healthy peers", async () => {
    const user = userEvent.setup();
    openScreen("/triggers");
    await user.click(await screen.findByRole("button", { name: "alertmanager of dc1" }));
    const dialog = await screen.findByRole("dialog");
    await user.click(within(dialog).getByRole("button", { name: "Send test" }));
    expect(await within(dialog).findByText(/No label of the alert names a host/)).toBeVisible();
    await user.type(
      within(dialog).getByRole("combobox", { name: "Test labels" }),
      "instance=feed-7:9100{Enter}",
    );
    await user.click(within(dialog).getByRole("button", { name: "Send test" }));
    expect(await within(dialog).findByText("with feed-8, feed-9")).toBeVisible();
  });

  it("show alerts that match no host, with the reason", async () => {
    openScreen("/triggers?part=alerts");
    const row = (await screen.findByText(/No host named old-box/)).closest("tr");
    expect(row).toHaveTextContent("unmatched");
    expect(screen.getByText("1000")).toBeVisible();
    expect(screen.getByRole("link", { name: "#42" })).toBeVisible();
  });

  it("can use the standard tier on hosts with a label that an admin allows", async () => {
    const user = userEvent.setup();
    openScreen("/triggers");
    await user.type(await screen.findByRole("textbox", { name: "Label" }), "role=feed");
    await user.click(screen.getByRole("button", { name: "Allow standard" }));
    expect(await screen.findByText("role=feed")).toBeVisible();
  });

  it("are read-only for a viewer", async () => {
    state.role = "viewer";
    openScreen("/triggers");
    expect(await screen.findByText("alertmanager of dc1")).toBeVisible();
    expect(screen.queryByRole("button", { name: "Add trigger" })).toBeNull();
    expect(screen.queryByRole("radio", { name: "Channels" })).toBeNull();
  });
});
