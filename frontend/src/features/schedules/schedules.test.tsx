import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { sent } from "../../mock/msw";
import { planned, resetSchedules, SCHEDULES } from "../../mock/schedules";
import { state } from "../../mock/state";
import { HOSTS } from "../../mock/world";
import { open } from "../testing/screen";

const NIGHTLY = SCHEDULES[0]!;
const last = (method: string, path: string) =>
  sent.filter((one) => one.method === method && one.path === path).at(-1)?.body;

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
  it("say what to do where there is none", async () => {
    planned.schedules = [];
    state.role = "viewer";
    open("/schedules");
    expect(await screen.findByText("Nothing is scheduled yet")).toBeVisible();
    expect(screen.getByText(/on call or an admin can add one/)).toBeVisible();
    expect(screen.queryByRole("button", { name: "Add a schedule" })).toBeNull();
  });

  it("are listed with what became of them, and with why nothing would start", async () => {
    open("/schedules");
    const row = (await screen.findByRole("button", { name: NIGHTLY.name })).closest("tr") as HTMLElement;
    expect(row).toHaveTextContent("30 3 * * *");
    expect(row).toHaveTextContent("166 hosts");
    expect(within(row).getByRole("img", { name: "fired 12, missed 4, skipped 1" })).toBeVisible();
    const deep = (await screen.findByRole("button", { name: SCHEDULES[1]!.name })).closest(
      "tr",
    ) as HTMLElement;
    expect(within(deep).getByTitle(/only where an administrator has allowed it/)).toBeVisible();
  });

  it("are found by what their row shows where there are many", async () => {
    planned.schedules = Array.from({ length: 40 }, (_, n) => ({
      ...NIGHTLY,
      id: `${n}`,
      name: `night ${n}`,
    }));
    open("/schedules?q=feed%20NIGHT%2037");
    expect(await screen.findByRole("button", { name: "night 37" })).toBeVisible();
    expect(screen.getByRole("textbox", { name: /Name, host, label/ })).toHaveValue("feed NIGHT 37");
    expect(screen.queryByRole("button", { name: "night 36" })).toBeNull();
  });

  it("show each due time with its reason, and are paused where one looks", async () => {
    const user = userEvent.setup();
    open(`/schedules?one=${NIGHTLY.id}`);
    const past = await screen.findByRole("region", { name: "What became of it" });
    expect(past).toHaveTextContent("missed × 4");
    expect(past).toHaveTextContent("Maintenance until 06:00: new disks");
    expect(within(past).getByRole("link", { name: "#41" })).toBeVisible();
    const next = screen.getByRole("region", { name: "When it is due next" });
    expect(next).toHaveTextContent("03:30 is skipped that day");
    expect(next).toHaveTextContent(/maintenance until .*new disks/);
    await user.click(screen.getByRole("button", { name: "Pause" }));
    expect(await screen.findByRole("button", { name: "Resume" })).toBeVisible();
    expect(last("PATCH", `/schedules/${NIGHTLY.id}`)).toEqual({ version: 3, paused: true });
  });

  it("are made with the next due times in sight", async () => {
    const user = userEvent.setup();
    open("/schedules?act=add");
    const dialog = await screen.findByRole("dialog");
    const preview = await within(dialog).findByRole("region", { name: "When it is due next" });
    await waitFor(() => expect(within(preview).getAllByRole("row")).toHaveLength(11));
    await user.type(within(dialog).getByLabelText("Name"), "weekly");
    await user.click(within(dialog).getByRole("button", { name: "on Sundays at 04:00" }));
    await user.type(within(dialog).getByRole("combobox", { name: "Hosts labelled" }), "role=feed{Enter}");
    await waitFor(() =>
      expect(last("POST", "/schedules/preview")).toMatchObject({
        cadence: { kind: "cron", cron: "0 4 * * 0" },
        target: { labels: { role: "feed" } },
      }),
    );
    await user.click(within(dialog).getByRole("button", { name: "Add a schedule" }));
    expect(await screen.findByRole("button", { name: "weekly" })).toBeVisible();
    expect(last("POST", "/schedules")).toMatchObject({ name: "weekly", wanted: { plan: "baseline" } });
  });

  it("say at once what is wrong with the fields", async () => {
    const user = userEvent.setup();
    open("/schedules?act=add");
    const dialog = await screen.findByRole("dialog");
    const fields = await within(dialog).findByLabelText("Cron fields");
    await user.clear(fields);
    await user.type(fields, "every day");
    expect(await within(dialog).findByText(/These cron fields cannot be read: five fields/)).toBeVisible();
  });
});

describe("maintenance", () => {
  it("is set for hosts with a label, and ended", async () => {
    const user = userEvent.setup();
    open("/schedules");
    expect(await screen.findByText("No maintenance is planned")).toBeVisible();
    await user.click(screen.getByRole("button", { name: "Add maintenance" }));
    const dialog = await screen.findByRole("dialog");
    await user.type(within(dialog).getByRole("combobox", { name: "Hosts labelled" }), "role=feed{Enter}");
    await user.type(within(dialog).getByRole("textbox", { name: /Reason/ }), "new disks");
    await user.click(within(dialog).getByRole("button", { name: "Add maintenance" }));
    const table = await screen.findByRole("region", { name: "Maintenance" });
    expect(await within(table).findByText("new disks")).toBeVisible();
    expect(last("POST", "/maintenance")).toMatchObject({ labels: { role: "feed" }, reason: "new disks" });
    await user.click(within(table).getByRole("button", { name: "End now" }));
    expect(await screen.findByText("No maintenance is planned")).toBeVisible();
  });

  it("comes again by cron fields, with its next times in sight", async () => {
    const user = userEvent.setup();
    open("/schedules?act=hold");
    const dialog = await screen.findByRole("dialog");
    await user.click(within(dialog).getByRole("radio", { name: "Again and again" }));
    const next = await within(dialog).findByRole("region", { name: "When it is due next" });
    await waitFor(() => expect(within(next).getAllByRole("row")).toHaveLength(6));
    expect(next).toHaveTextContent("Until (UTC)");
    await user.click(within(dialog).getByRole("button", { name: "every night at 03:30" }));
    await user.click(within(dialog).getByRole("radio", { name: "Everywhere" }));
    await user.type(within(dialog).getByRole("textbox", { name: /Reason/ }), "backup");
    await user.click(within(dialog).getByRole("button", { name: "Add maintenance" }));
    const table = await screen.findByRole("region", { name: "Maintenance" });
    const row = (await within(table).findByText("backup")).closest("tr") as HTMLElement;
    expect(row).toHaveTextContent(/30 3 \* \* \* .*120 min/);
    expect(row).toHaveTextContent(/then .*03:30/);
    expect(last("POST", "/maintenance")).toMatchObject({
      recurs: { cron: "30 3 * * *", minutes: 120 },
      reason: "backup",
    });
    expect(last("POST", "/maintenance")).not.toHaveProperty("ends_at");
    await user.click(within(table).getByRole("button", { name: "Remove" }));
    expect(await screen.findByText("No maintenance is planned")).toBeVisible();
  });

  it("says why it cannot come again like that", async () => {
    const user = userEvent.setup();
    open("/schedules?act=hold");
    const dialog = await screen.findByRole("dialog");
    await user.click(within(dialog).getByRole("radio", { name: "Again and again" }));
    await user.click(within(dialog).getByRole("radio", { name: "Everywhere" }));
    await user.type(within(dialog).getByRole("textbox", { name: /Reason/ }), "backup");
    const lasts = within(dialog).getByRole("textbox", { name: /For how long/ });
    await user.clear(lasts);
    expect(within(dialog).getByRole("button", { name: "Add maintenance" })).toBeDisabled();
    await user.type(lasts, "1440");
    await user.click(within(dialog).getByRole("button", { name: "Add maintenance" }));
    expect(await within(dialog).findByText(/it would never end/)).toBeVisible();
    const fields = within(dialog).getByLabelText("Cron fields");
    await user.clear(fields);
    await user.type(fields, "every day");
    expect(await within(dialog).findByText(/These cron fields cannot be read: five fields/)).toBeVisible();
  });
});
