import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { mockSchedules, resetSchedules, SCHEDULES } from "../../../mock/automation/schedules";
import { HOSTS } from "../../../mock/dataset";
import { sentRequests } from "../../../mock/server/msw";
import { state } from "../../../mock/server/state";
import { openScreen } from "../../testing/screen";

const NIGHTLY = SCHEDULES[0]!;
const last = (method: string, path: string) =>
  sentRequests.filter((request) => request.method === method && request.path === path).at(-1)?.body;

beforeEach(() => {
  resetSchedules();
  state.hosts = HOSTS.slice(0, 3);
});
afterEach(() => {
  state.role = "admin";
  state.hosts = [...HOSTS];
  resetSchedules();
});

describe("schedules", () => {
  it("explain an empty list", async () => {
    mockSchedules.schedules = [];
    state.role = "viewer";
    openScreen("/schedules");
    expect(await screen.findByText("No schedules yet")).toBeVisible();
    expect(screen.getByText(/role on-call can add/)).toBeVisible();
    expect(screen.queryByRole("button", { name: "Add schedule" })).toBeNull();
  });

  it("are listed with their results and with the reason of a refusal", async () => {
    openScreen("/schedules");
    const row = (await screen.findByRole("button", { name: NIGHTLY.name })).closest("tr") as HTMLElement;
    expect(row).toHaveTextContent("30 3 * * *");
    expect(row).toHaveTextContent("166 hosts");
    expect(within(row).getByRole("img", { name: "started 12, missed 4, skipped 1" })).toBeVisible();
    const deep = (await screen.findByRole("button", { name: SCHEDULES[1]!.name })).closest(
      "tr",
    ) as HTMLElement;
    expect(within(deep).getByTitle(/need the permission of an admin/)).toBeVisible();
  });

  it("are filtered by the text of their row", async () => {
    mockSchedules.schedules = Array.from({ length: 40 }, (_, n) => ({
      ...NIGHTLY,
      id: `${n}`,
      name: `night ${n}`,
    }));
    openScreen("/schedules?q=feed%20NIGHT%2037");
    expect(await screen.findByRole("button", { name: "night 37" })).toBeVisible();
    expect(screen.getByRole("textbox", { name: /Name, host, label/ })).toHaveValue("feed NIGHT 37");
    expect(screen.queryByRole("button", { name: "night 36" })).toBeNull();
  });

  it("show each result with its reason, and are paused in the detail view", async () => {
    const user = userEvent.setup();
    openScreen(`/schedules?schedule=${NIGHTLY.id}`);
    const past = await screen.findByRole("region", { name: "History" });
    expect(past).toHaveTextContent("missed × 4");
    expect(past).toHaveTextContent("Maintenance until 06:00: new disks");
    expect(within(past).getByRole("link", { name: "#41" })).toBeVisible();
    const next = screen.getByRole("region", { name: "Next due times" });
    expect(next).toHaveTextContent("03:30 does not exist that day");
    expect(next).toHaveTextContent(/maintenance until .*new disks/);
    await user.click(screen.getByRole("button", { name: "Pause" }));
    expect(await screen.findByRole("button", { name: "Resume" })).toBeVisible();
    expect(last("PATCH", `/schedules/${NIGHTLY.id}`)).toEqual({ version: 3, paused: true });
  });

  it("preview the next due times while they are created", async () => {
    const user = userEvent.setup();
    openScreen("/schedules?dialog=add");
    const dialog = await screen.findByRole("dialog");
    const preview = await within(dialog).findByRole("region", { name: "Next due times" });
    await waitFor(() => expect(within(preview).getAllByRole("row")).toHaveLength(11));
    await user.type(within(dialog).getByLabelText("Name"), "weekly");
    await user.click(within(dialog).getByRole("button", { name: "on Sundays at 04:00" }));
    await user.type(within(dialog).getByRole("combobox", { name: "Hosts with labels" }), "role=feed{Enter}");
    await waitFor(() =>
      expect(last("POST", "/schedules/preview")).toMatchObject({
        cadence: { kind: "cron", cron: "0 4 * * 0" },
        target: { labels: { role: "feed" } },
      }),
    );
    await user.click(within(dialog).getByRole("button", { name: "Add schedule" }));
    expect(await screen.findByRole("button", { name: "weekly" })).toBeVisible();
    expect(last("POST", "/schedules")).toMatchObject({ name: "weekly", capture: { plan: "baseline" } });
  });

  it("report wrong cron fields immediately", async () => {
    const user = userEvent.setup();
    openScreen("/schedules?dialog=add");
    const dialog = await screen.findByRole("dialog");
    const fields = await within(dialog).findByLabelText("Cron fields");
    await user.clear(fields);
    await user.type(fields, "every day");
    expect(await within(dialog).findByText(/Cannot parse the cron fields: five fields/)).toBeVisible();
  });
});

describe("maintenance", () => {
  it("is created for hosts with a label, and ended", async () => {
    const user = userEvent.setup();
    openScreen("/schedules");
    expect(await screen.findByText("No maintenance windows planned")).toBeVisible();
    await user.click(screen.getByRole("button", { name: "Add maintenance window" }));
    const dialog = await screen.findByRole("dialog");
    await user.type(within(dialog).getByRole("combobox", { name: "Hosts with labels" }), "role=feed{Enter}");
    await user.type(within(dialog).getByRole("textbox", { name: /Reason/ }), "new disks");
    await user.click(within(dialog).getByRole("button", { name: "Add maintenance window" }));
    const table = await screen.findByRole("region", { name: "Maintenance windows" });
    expect(await within(table).findByText("new disks")).toBeVisible();
    expect(last("POST", "/maintenance-windows")).toMatchObject({
      labels: { role: "feed" },
      reason: "new disks",
    });
    await user.click(within(table).getByRole("button", { name: "End now" }));
    expect(await screen.findByText("No maintenance windows planned")).toBeVisible();
  });

  it("recurs by cron fields, with a preview of its next times", async () => {
    const user = userEvent.setup();
    openScreen("/schedules?dialog=maintenance");
    const dialog = await screen.findByRole("dialog");
    await user.click(within(dialog).getByRole("radio", { name: "Recurring" }));
    const next = await within(dialog).findByRole("region", { name: "Next due times" });
    await waitFor(() => expect(within(next).getAllByRole("row")).toHaveLength(6));
    expect(next).toHaveTextContent("Until (UTC)");
    await user.click(within(dialog).getByRole("button", { name: "every night at 03:30" }));
    await user.click(within(dialog).getByRole("radio", { name: "All hosts" }));
    await user.type(within(dialog).getByRole("textbox", { name: /Reason/ }), "backup");
    await user.click(within(dialog).getByRole("button", { name: "Add maintenance window" }));
    const table = await screen.findByRole("region", { name: "Maintenance windows" });
    const row = (await within(table).findByText("backup")).closest("tr") as HTMLElement;
    expect(row).toHaveTextContent(/30 3 \* \* \* .*120 min/);
    expect(row).toHaveTextContent(/then .*03:30/);
    expect(last("POST", "/maintenance-windows")).toMatchObject({
      recurs: { cron: "30 3 * * *", minutes: 120 },
      reason: "backup",
    });
    expect(last("POST", "/maintenance-windows")).not.toHaveProperty("ends_at");
    await user.click(within(table).getByRole("button", { name: "Delete" }));
    expect(await screen.findByText("No maintenance windows planned")).toBeVisible();
  });

  it("reports why a recurrence is refused", async () => {
    const user = userEvent.setup();
    openScreen("/schedules?dialog=maintenance");
    const dialog = await screen.findByRole("dialog");
    await user.click(within(dialog).getByRole("radio", { name: "Recurring" }));
    await user.click(within(dialog).getByRole("radio", { name: "All hosts" }));
    await user.type(within(dialog).getByRole("textbox", { name: /Reason/ }), "backup");
    const lasts = within(dialog).getByRole("textbox", { name: /Duration/ });
    await user.clear(lasts);
    expect(within(dialog).getByRole("button", { name: "Add maintenance window" })).toBeDisabled();
    await user.type(lasts, "1440");
    await user.click(within(dialog).getByRole("button", { name: "Add maintenance window" }));
    expect(await within(dialog).findByText(/Shorten the duration/)).toBeVisible();
    const fields = within(dialog).getByLabelText("Cron fields");
    await user.clear(fields);
    await user.type(fields, "every day");
    expect(await within(dialog).findByText(/Cannot parse the cron fields: five fields/)).toBeVisible();
  });
});
