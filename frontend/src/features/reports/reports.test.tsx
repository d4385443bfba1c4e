import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { state } from "../../../mock/api";
import { resetIncidents } from "../../../mock/incidents/incidents";
import { FULL_INCIDENT } from "../../../mock/incidents/investigations";
import { createReport, freezeAsOtherUser, resetReports } from "../../../mock/incidents/reports";
import { sentRequests } from "../../../mock/server/msw";
import { openScreen } from "../../testing/screen";

const AT = `/incidents/${FULL_INCIDENT.id}/reports`;

beforeEach(() => {
  resetIncidents();
  resetReports();
});
afterEach(() => {
  state.role = "admin";
});

/** Create a report, open its page, and return its ID. */
async function openNewReport(): Promise<string> {
  const { id } = createReport(FULL_INCIDENT.id, { title: FULL_INCIDENT.title });
  openScreen(`/reports/${id}`);
  await screen.findByRole("heading", { name: "Draft" });
  return id;
}
const last = (method: string, path: RegExp) =>
  sentRequests.filter((request) => request.method === method && path.test(request.path)).at(-1)?.body;

describe("reports of an incident", () => {
  it("are linked from the incident", async () => {
    openScreen(`/incidents/${FULL_INCIDENT.id}`);
    expect(await screen.findByRole("link", { name: "Report" })).toHaveAttribute("href", AT);
  });

  it("are created from the list with the title of the incident", async () => {
    const user = userEvent.setup();
    openScreen(AT);
    await user.click(await screen.findByRole("button", { name: "Create report" }));
    const dialog = within(await screen.findByRole("dialog"));
    await user.click(dialog.getByRole("button", { name: "Create report" }));
    expect(await screen.findByRole("heading", { name: "Draft" })).toBeVisible();
    expect(last("POST", /\/reports$/)).toMatchObject({
      title: FULL_INCIDENT.title,
      preset: "customer",
      language: "en",
    });
  });

  it("begin with cause, impact, fix and proof of the incident", async () => {
    await openNewReport();
    const answer = (await screen.findByText("GOMAXPROCS 300 → 4")).closest("dl") as HTMLElement;
    expect([...answer.querySelectorAll("dt")].map((item) => item.textContent)).toEqual([
      "Cause",
      "Impact",
      "Fix",
      "Proof",
    ]);
    expect(await within(answer).findByText("More runnable threads than CPUs")).toBeVisible();
    expect(within(answer).getByText("verified")).toBeVisible();
    expect(answer).toHaveTextContent("-91.0");
    expect(within(answer).getByText("No impact written yet. Describe it in the draft.")).toBeVisible();
  });

  it("are saved with the version that the user edited", async () => {
    const user = userEvent.setup();
    await openNewReport();
    await user.type(screen.getByLabelText(/^Summary/), "It was the pool.");
    await user.click(screen.getByRole("button", { name: "Add follow-up" }));
    await user.type(screen.getByRole("textbox", { name: "Follow-up" }), "alert on it");
    await user.click(screen.getByRole("button", { name: "Save" }));
    await waitFor(() => expect(screen.getByRole("button", { name: "Save" })).toBeDisabled());
    expect(last("PATCH", /\/reports\//)).toMatchObject({
      version: 1,
      summary: "It was the pool.",
      follow_ups: [{ what: "alert on it", who: "", due: null, done: false }],
    });
  });

  it("preview replacements before a version is frozen", async () => {
    const user = userEvent.setup();
    const id = await openNewReport();
    expect(screen.getByRole("link", { name: "Open report preview" })).toHaveAttribute(
      "href",
      `/api/v1/reports/${id}/preview/page`,
    );
    await user.click(screen.getByRole("button", { name: "Preview redaction" }));
    const table = within(await screen.findByRole("region", { name: "Replacements" }));
    expect(table.getByRole("row", { name: /feed-7/ })).toHaveTextContent("host-1");
    expect(screen.getByRole("list", { name: "Lines before and after" })).toHaveTextContent(
      "host-1 at address-1 is slow",
    );
    await user.click(screen.getByRole("checkbox", { name: "Functions" }));
    await user.click(screen.getByRole("button", { name: "Save redaction" }));
    await waitFor(() => expect(last("PATCH", /\/reports\//)?.kinds).toContain("symbol"));
  });

  it("cannot be approved by the user who froze them", async () => {
    const user = userEvent.setup();
    await openNewReport();
    await user.click(screen.getByRole("button", { name: "Freeze version" }));
    const version = within(await screen.findByRole("article", { name: "Version 1" }));
    expect(version.getByText("not approved")).toBeVisible();
    expect(version.getByText("19 replacements")).toBeVisible();
    expect(version.getByRole("button", { name: "Approve" })).toBeDisabled();
    expect(version.getByRole("button", { name: "Share" })).toBeDisabled();
    expect(version.getByRole("link", { name: "HTML" })).toHaveAttribute(
      "href",
      expect.stringContaining("form=html"),
    );
  });

  it("are approved by a second user, shared, and the share link is revoked", async () => {
    const user = userEvent.setup();
    const { id } = createReport(FULL_INCIDENT.id);
    freezeAsOtherUser(id);
    openScreen(`/reports/${id}`);
    const version = within(await screen.findByRole("article", { name: "Version 1" }));
    await user.click(version.getByRole("button", { name: "Approve" }));
    expect(await version.findByText("approved by admin")).toBeVisible();
    await user.click(version.getByRole("button", { name: "Share" }));
    const dialog = within(await screen.findByRole("dialog"));
    await user.type(dialog.getByLabelText("Recipient"), "acme");
    await user.click(dialog.getByRole("button", { name: "Create link" }));
    expect(await dialog.findByText(/\/r\/k{43}/)).toBeVisible();
    expect(last("POST", /\/shares$/)).toEqual({ days: 14, note: "acme" });
    await user.click(dialog.getAllByRole("button", { name: "Close" }).at(-1) as HTMLElement);
    const links = within(await screen.findByRole("region", { name: "Links" }));
    await user.click(links.getByRole("button", { name: "1 visit" }));
    const visits = within(await screen.findByRole("dialog"));
    expect(await visits.findByText("192.0.2.7")).toBeVisible();
    await user.click(visits.getByRole("button", { name: "Close" }));
    await user.click(links.getByRole("button", { name: "Revoke link" }));
    const sure = await screen.findAllByRole("button", { name: "Revoke link" });
    await user.click(sure.at(-1) as HTMLElement);
    expect(await links.findByText("revoked")).toBeVisible();
  });

  it("are read-only for a viewer", async () => {
    state.role = "viewer";
    await openNewReport();
    expect(screen.queryByRole("button", { name: "Freeze version" })).toBeNull();
    expect(screen.getByLabelText(/^Summary/)).toBeDisabled();
    expect(screen.queryByRole("button", { name: "Preview redaction" })).toBeNull();
  });
});
