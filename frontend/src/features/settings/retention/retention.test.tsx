import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it } from "vitest";
import { state } from "../../mock/api";
import { sent } from "../../mock/msw";
import { stored } from "../../mock/storage";
import { open } from "../testing/screen";

const first = structuredClone(stored);

afterEach(() => {
  state.role = "admin";
  state.empty = false;
  Object.assign(stored, structuredClone(first));
  sent.length = 0;
});

const bodies = (method: string, path: RegExp) =>
  sent.filter((one) => one.method === method && path.test(one.path)).map((one) => one.body);

describe("the storage page", () => {
  it("says when the disk is full and what uses it, in pictures and words", async () => {
    open("/settings/storage");
    expect(await screen.findByText("2027-06-28")).toBeVisible();
    expect(screen.getByRole("figure", { name: "What uses the disk" })).toHaveTextContent("Recordings");
    expect(screen.getByRole("img", { name: /last 60 days/ })).toBeVisible();
    expect(screen.getByText("Imports without a host")).toBeVisible();
  });

  it("shows what a limit deletes before it can be set", async () => {
    const user = userEvent.setup();
    open("/settings/storage");
    const row = (await screen.findByText("what collectors wrote")).closest("tr") as HTMLElement;
    await user.click(within(row).getByRole("button", { name: "Change" }));
    await user.type(screen.getByRole("textbox", { name: "Days" }), "30");
    expect(screen.queryByRole("button", { name: /^Set/ })).toBeNull();
    await user.click(screen.getByRole("button", { name: "What would it delete?" }));
    expect(await screen.findByRole("status")).toHaveTextContent("88 (700");
    expect(bodies("PATCH", /policy$/)).toEqual([]);
    await user.click(screen.getByRole("button", { name: /^Set and delete/ }));
    expect(await within(row).findByText("30 days")).toBeVisible();
    expect(bodies("PATCH", /policy$/)).toEqual([{ kind: "texts", days: 30, max_bytes: null }]);
  });

  it("deletes bytes without a row, and asks again", async () => {
    const user = userEvent.setup();
    open("/settings/storage");
    await user.click(await screen.findByRole("button", { name: "Delete them" }));
    expect(
      await screen.findByText("0 (0 B)", { normalizer: (text) => text.replace(/\u2009/g, " ") }),
    ).toBeVisible();
  });

  it("says so where nothing was measured yet", async () => {
    state.empty = true;
    open("/settings/storage");
    expect(await screen.findByText("Not measured yet")).toBeVisible();
    expect(screen.getByText("It was not checked yet.")).toBeVisible();
  });

  it("is for administrators", async () => {
    state.role = "oncall";
    open("/settings/storage");
    expect(await screen.findByText("Your role does not allow this.")).toBeVisible();
  });
});
