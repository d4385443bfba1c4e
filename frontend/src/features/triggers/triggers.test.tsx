import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it } from "vitest";
import { state } from "../../mock/api";
import { sent } from "../../mock/msw";
import { alerting } from "../../mock/triggers";
import { open } from "../testing/screen";

const first = structuredClone(alerting);

afterEach(() => {
  state.role = "admin";
  Object.assign(alerting, structuredClone(first));
  sent.length = 0;
});

const lastBody = (method: string, path: RegExp) =>
  sent.findLast((one) => one.method === method && path.test(one.path))?.body;

describe("the kill switch", () => {
  it("is pulled everywhere from any screen, and stands below the header until it is lifted", async () => {
    const user = userEvent.setup();
    open("/hosts");
    await user.click(await screen.findByRole("button", { name: "Kill switch" }));
    const dialog = await screen.findByRole("dialog");
    await user.click(within(dialog).getByRole("button", { name: "Stop everywhere now" }));
    const band = await screen.findByRole("alert");
    expect(band).toHaveTextContent("Kill switch: nothing startseverywhere");
    expect(lastBody("POST", /kill-switches$/)).toEqual({ kind: "everywhere", reason: "", cancel: true });
    await user.click(within(band).getByRole("button", { name: "Lift the kill switch: everywhere" }));
    await waitFor(() => expect(screen.queryByRole("alert")).toBeNull());
  });

  it("is pulled for a label with a reason", async () => {
    const user = userEvent.setup();
    open("/hosts");
    await user.click(await screen.findByRole("button", { name: "Kill switch" }));
    const dialog = await screen.findByRole("dialog");
    await user.click(within(dialog).getByRole("radio", { name: "Hosts with a label" }));
    const stop = within(dialog).getByRole("button", { name: "Stop these hosts now" });
    expect(stop).toBeDisabled();
    await user.type(within(dialog).getByRole("textbox", { name: "Hosts with a label" }), "role=feed");
    await user.type(within(dialog).getByRole("textbox", { name: "Why" }), "sick");
    await user.click(stop);
    expect(await screen.findByRole("alert")).toHaveTextContent("role=feed: sick");
  });

  it("is seen by everybody and lifted by administrators alone", async () => {
    state.role = "viewer";
    alerting.switches = [
      {
        id: "s",
        kind: "host",
        host: { id: "h", name: "feed-7" },
        label: null,
        reason: "",
        pulled_by: { id: "u", name: "lena" },
        created_at: "2026-11-21T02:14:00Z",
        lifted_at: null,
        cancelled: 0,
      },
    ];
    open("/captures");
    expect(await screen.findByRole("alert")).toHaveTextContent("feed-7");
    expect(screen.queryByRole("button", { name: /Lift/ })).toBeNull();
    expect(screen.queryByRole("button", { name: "Kill switch" })).toBeNull();
  });
});

describe("triggers", () => {
  it("say what they heard, what came of it, and what they turned away", async () => {
    open("/triggers");
    const row = (await screen.findByRole("button", { name: "alertmanager of dc1" })).closest("tr");
    expect(row).toHaveTextContent("999 joined");
    expect(row).toHaveTextContent("The token of the request is wrong or missing.");
    expect(row).toHaveTextContent("on-call chat");
  });

  it("are made, and their secret with a request to paste is told once", async () => {
    const user = userEvent.setup();
    open("/triggers");
    await user.click(await screen.findByRole("button", { name: "New trigger" }));
    const dialog = await screen.findByRole("dialog");
    await user.type(within(dialog).getByLabelText("Name"), "grafana");
    await user.click(within(dialog).getByRole("button", { name: "New trigger" }));
    expect(await within(dialog).findByText("culprit_trigger_once")).toBeVisible();
    expect(within(dialog).getByText(/curl -H 'Authorization: Bearer culprit_trigger_once'/)).toBeVisible();
    expect(lastBody("POST", /triggers$/)).toMatchObject({
      name: "grafana",
      kind: "alertmanager",
      proof: "token",
      options: { peers: 2, cooldown_s: 1800 },
    });
  });

  it("are tried with labels, and say which host and which healthy ones", async () => {
    const user = userEvent.setup();
    open("/triggers");
    await user.click(await screen.findByRole("button", { name: "alertmanager of dc1" }));
    const dialog = await screen.findByRole("dialog");
    await user.click(within(dialog).getByRole("button", { name: "Send a test" }));
    expect(await within(dialog).findByText(/No label of the alert names a host/)).toBeVisible();
    await user.type(
      within(dialog).getByRole("combobox", { name: "Try labels" }),
      "instance=feed-7:9100{Enter}",
    );
    await user.click(within(dialog).getByRole("button", { name: "Send a test" }));
    expect(await within(dialog).findByText("with feed-8, feed-9")).toBeVisible();
  });

  it("show alerts that fit nothing with the reason", async () => {
    open("/triggers?part=alerts");
    const row = (await screen.findByText(/No enrolled host is called old-box/)).closest("tr");
    expect(row).toHaveTextContent("unmatched");
    expect(screen.getByText("1000")).toBeVisible();
    expect(screen.getByRole("link", { name: "#42" })).toBeVisible();
  });

  it("allow the standard tier for a label, by administrators", async () => {
    const user = userEvent.setup();
    open("/triggers");
    await user.type(await screen.findByRole("textbox", { name: "Label" }), "role=feed");
    await user.click(screen.getByRole("button", { name: "Allow standard" }));
    expect(await screen.findByText("role=feed")).toBeVisible();
  });

  it("are only looked at by viewers", async () => {
    state.role = "viewer";
    open("/triggers");
    expect(await screen.findByText("alertmanager of dc1")).toBeVisible();
    expect(screen.queryByRole("button", { name: "New trigger" })).toBeNull();
    expect(screen.queryByRole("radio", { name: "Channels" })).toBeNull();
  });
});

describe("channels and messages", () => {
  it("say where they lead without their secrets, and that something did not arrive", async () => {
    const user = userEvent.setup();
    open("/triggers?part=channels");
    expect(await screen.findByText("https://chat.example:443")).toBeVisible();
    await user.click(screen.getByRole("button", { name: "New channel" }));
    const dialog = await screen.findByRole("dialog");
    await user.type(within(dialog).getByLabelText("Name"), "pager");
    await user.type(within(dialog).getByLabelText("Address"), "https://hooks.example/very-secret");
    await user.click(within(dialog).getByRole("button", { name: "New channel" }));
    expect(await screen.findByText("culprit_hook_once")).toBeVisible();
    expect(screen.queryByText(/very-secret/)).toBeNull();
  });

  it("let a message that never arrived be tried again", async () => {
    const user = userEvent.setup();
    open("/triggers?part=notices");
    const row = (await screen.findByText("feed · feed-7: Too many threads")).closest("tr") as HTMLElement;
    expect(row).toHaveTextContent("chat.example answers with HTTP 503");
    await user.click(within(row).getByRole("button", { name: "Try again" }));
    expect(await within(row).findByText("waiting")).toBeVisible();
  });

  it("let an annotation that Grafana never took be tried again", async () => {
    const user = userEvent.setup();
    open("/triggers?part=notices");
    const grid = await screen.findByRole("region", { name: "Not arrived in Grafana" });
    const row = within(grid).getByText("#42 p99 of feed is 2.3 s").closest("tr") as HTMLElement;
    expect(row).toHaveTextContent("grafana.example answers with HTTP 502");
    expect(within(row).getByRole("link", { name: "Incident" })).toBeVisible();
    expect(within(grid).getByRole("link", { name: "Cause, to disappear" })).toBeVisible();
    await user.click(within(row).getByRole("button", { name: "Try again" }));
    await waitFor(() => expect(row).not.toBeInTheDocument());
    expect(lastBody("POST", /grafana-annotations\/[^/]+\/again$/)).toEqual({});
  });

  it("try everything of one channel again that did not arrive", async () => {
    const user = userEvent.setup();
    open("/triggers?part=channels");
    const row = (await screen.findByText("graphs")).closest("tr") as HTMLElement;
    await user.click(within(row).getByRole("button", { name: "Try all again" }));
    await waitFor(() => expect(within(row).queryByRole("button", { name: "Try all again" })).toBeNull());
  });
});
