import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it } from "vitest";
import { state } from "../../../../mock/api";
import { mockStorage } from "../../../../mock/captures/storage";
import { sentRequests } from "../../../../mock/server/msw";
import { openScreen } from "../../../testing/screen";

const first = structuredClone(mockStorage);

afterEach(() => {
  state.role = "admin";
  state.empty = false;
  Object.assign(mockStorage, structuredClone(first));
  sentRequests.length = 0;
});

const bodies = (method: string, path: RegExp) =>
  sentRequests
    .filter((request) => request.method === method && path.test(request.path))
    .map((request) => request.body);

describe("the storage page", () => {
  it("shows when the disk will be full, and its usage as charts and text", async () => {
    openScreen("/settings/storage");
    expect(await screen.findByText("2027-06-28")).toBeVisible();
    expect(screen.getByRole("figure", { name: "Disk usage" })).toHaveTextContent("Recordings");
    expect(screen.getByRole("img", { name: /last 60 days/ })).toBeVisible();
    expect(screen.getByText("Imports without a host")).toBeVisible();
  });

  it("previews the deletions of a limit before it can be set", async () => {
    const user = userEvent.setup();
    openScreen("/settings/storage");
    const row = (await screen.findByText("text output of collectors")).closest("tr") as HTMLElement;
    await user.click(within(row).getByRole("button", { name: "Change" }));
    await user.type(screen.getByRole("textbox", { name: "Days" }), "30");
    expect(screen.queryByRole("button", { name: /^Set limit/ })).toBeNull();
    await user.click(screen.getByRole("button", { name: "Preview deletion" }));
    expect(await screen.findByRole("status")).toHaveTextContent("88 (700");
    expect(bodies("PATCH", /policy$/)).toEqual([]);
    await user.click(screen.getByRole("button", { name: /^Set limit and delete/ }));
    expect(await within(row).findByText("30 days")).toBeVisible();
    expect(bodies("PATCH", /policy$/)).toEqual([{ kind: "texts", days: 30, max_bytes: null }]);
  });

  it("deletes orphaned files, and checks again", async () => {
    const user = userEvent.setup();
    openScreen("/settings/storage");
    await user.click(await screen.findByRole("button", { name: "Delete orphans" }));
    expect(
      await screen.findByText("0 (0 B)", { normalizer: (text) => text.replace(/\u2009/g, " ") }),
    ).toBeVisible();
  });

  it("lists altered files with their captures", async () => {
    openScreen("/settings/storage");
    const table = await screen.findByRole("region", { name: "Altered files" });
    expect(table).toHaveTextContent("truncated");
    expect(within(table).getByRole("link")).toHaveAttribute("href", expect.stringContaining("/captures/"));
    expect(screen.getByText("Restore these files from a backup.")).toBeVisible();
  });

  it("shows that nothing was measured yet", async () => {
    state.empty = true;
    openScreen("/settings/storage");
    expect(await screen.findByText("Not measured yet")).toBeVisible();
    expect(screen.getByText("Not checked yet.")).toBeVisible();
  });

  it("is for administrators", async () => {
    state.role = "oncall";
    openScreen("/settings/storage");
    expect(await screen.findByText("Your role does not allow this.")).toBeVisible();
  });
});
