import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, describe, expect, it } from "vitest";
import { createUploads, mockUploads } from "../../../mock/captures/uploads";
import { sentRequests } from "../../../mock/server/msw";
import { openScreen } from "../../testing/screen";

beforeEach(() => {
  mockUploads.uploads = createUploads();
});

describe("an upload address", () => {
  it("is created for a new host, with a command to copy", async () => {
    const user = userEvent.setup();
    openScreen("/captures?dialog=import");
    const dialog = await screen.findByRole("dialog");
    const button = await within(dialog).findByRole("button", { name: "Create upload address" });
    expect(button).toBeDisabled();
    await user.type(within(dialog).getByLabelText("or a name for a new host"), "console-9");
    await user.click(button);
    expect(await within(dialog).findByText(/curl -fsS .*culprit.sh && sh culprit.sh/)).toBeVisible();
    const body = sentRequests
      .filter((request) => request.method === "POST" && request.path === "/uploads")
      .at(-1)?.body;
    expect(body).toEqual({ host_name: "console-9", plan: "triage", minutes: 60, max_mb: 64 });
  });

  it("shows its result or the reason of a failure, and can be revoked", async () => {
    const user = userEvent.setup();
    openScreen("/captures?dialog=import");
    const rows = await screen.findByRole("region", { name: "Upload addresses" });
    expect(rows).toHaveTextContent(/interrupted after 4096 bytes/);
    expect(within(rows).getByRole("link", { name: /KiB/ })).toBeVisible();
    const name = "Revoke address for console-2";
    await user.click(within(rows).getByRole("button", { name }));
    await user.click((await screen.findAllByRole("button", { name })).at(-1) as HTMLElement);
    expect(await within(rows).findByText("revoked")).toBeVisible();
  });
});
