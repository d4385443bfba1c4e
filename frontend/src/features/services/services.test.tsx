import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it } from "vitest";
import { state } from "../../../mock/api";
import { sentRequests } from "../../../mock/server/msw";
import type { Role, Service } from "../../client/models";
import { openScreen } from "../../testing/screen";

const FEED: Service = {
  id: "svc-1",
  name: "feed",
  selector: { role: "feed" },
  locate: { kind: "unit", value: "feed.service" },
  source: {
    kind: "prometheus",
    url: "http://10.40.0.9:9090",
    queries: { rate: "r", errors: "e", latency: "l $quantile" },
    latency_unit: "s",
  },
  has_token: true,
  missing: [],
  proxy: false,
  hosts: 166,
  created_at: "2026-11-21T10:00:00Z",
};
const ADS: Service = {
  ...FEED,
  id: "svc-2",
  name: "ads",
  locate: null,
  source: { kind: "accepts", port: 8080 },
  has_token: false,
  missing: ["errors", "latency"],
  proxy: true,
};

afterEach(() => {
  state.role = "admin" as Role;
  state.services = [];
});

describe("services", () => {
  it("shows an empty state, and adds a service", async () => {
    const user = userEvent.setup();
    openScreen("/services");
    expect(await screen.findByText("No services yet")).toBeVisible();
    await user.click(screen.getByRole("button", { name: "Add service" }));
    const dialog = await screen.findByRole("dialog");
    expect(within(dialog).getByRole("note")).toHaveTextContent("load, errors, latency will be inconclusive");
    await user.type(within(dialog).getByLabelText("Name"), "feed");
    await user.type(within(dialog).getByRole("combobox", { name: "Hosts with labels" }), "role=feed{Enter}");
    await user.click(within(dialog).getByRole("button", { name: "Add service" }));
    expect(await screen.findByRole("button", { name: "feed" })).toBeVisible();
    const body = sentRequests.find(
      (request) => request.method === "POST" && request.path === "/services",
    )?.body;
    expect(body).toEqual({ name: "feed", selector: { role: "feed" }, source: { kind: "none" } });
  });

  it("lists verdicts that will be inconclusive, and marks a source that is only a proxy", async () => {
    state.services = [FEED, ADS];
    openScreen("/services");
    const row = (await screen.findByRole("button", { name: "ads" })).closest("tr") as HTMLElement;
    expect(within(row).getByText("proxy")).toBeVisible();
    expect(within(row).getByText("errors, latency")).toBeVisible();
  });

  it("tests the queries of a Prometheus and never shows its token", async () => {
    const user = userEvent.setup();
    state.services = [FEED];
    openScreen("/services");
    await user.click(await screen.findByRole("button", { name: "feed" }));
    const dialog = await screen.findByRole("dialog");
    expect(within(dialog).getByLabelText("Bearer token")).toHaveValue("");
    await user.click(within(dialog).getByRole("button", { name: "Test queries" }));
    expect(await within(dialog).findByText(/parse error/)).toBeVisible();
    expect(within(dialog).getByText("812.4")).toBeVisible();
  });

  it("cannot be saved with a locator kind but no value", async () => {
    const user = userEvent.setup();
    state.services = [FEED];
    openScreen("/services");
    await user.click(await screen.findByRole("button", { name: "feed" }));
    const value = await screen.findByRole("textbox", { name: "Name or number" });
    expect(screen.getByRole("button", { name: "Save" })).toBeEnabled();
    await user.clear(value);
    expect(screen.getByRole("button", { name: "Save" })).toBeDisabled();
  });

  it("requires a confirmation to remove a service", async () => {
    const user = userEvent.setup();
    state.services = [ADS];
    openScreen("/services");
    await user.click(await screen.findByRole("button", { name: "ads" }));
    await user.click(await screen.findByRole("button", { name: "Remove" }));
    expect(state.services).toHaveLength(1);
    await user.click(screen.getByRole("button", { name: "Delete permanently" }));
    await waitFor(() => expect(state.services).toHaveLength(0));
  });

  it("is read-only for a viewer", async () => {
    state.role = "viewer" as Role;
    state.services = [FEED];
    openScreen("/services");
    expect(await screen.findByText("feed")).toBeVisible();
    expect(screen.queryByRole("button", { name: "Add service" })).toBeNull();
    expect(screen.queryByRole("button", { name: "feed" })).toBeNull();
  });
});
