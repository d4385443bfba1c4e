import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, describe, expect, it } from "vitest";
import { sent } from "../../mock/msw";
import { firstUploads, made } from "../../mock/uploads";
import { open } from "../testing/screen";

beforeEach(() => {
  made.uploads = firstUploads();
});

describe("an upload address", () => {
  it("is made for a host that nobody enrolled, with a command to copy once", async () => {
    const user = userEvent.setup();
    open("/captures?dialog=import");
    const dialog = await screen.findByRole("dialog");
    const button = await within(dialog).findByRole("button", { name: "Make an upload address" });
    expect(button).toBeDisabled();
    await user.type(within(dialog).getByLabelText("or a name for one that is not"), "console-9");
    await user.click(button);
    expect(await within(dialog).findByText(/curl -fsS .*culprit.sh && sh culprit.sh/)).toBeVisible();
    const body = sent.filter((one) => one.method === "POST" && one.path === "/uploads").at(-1)?.body;
    expect(body).toEqual({ host_name: "console-9", plan: "triage", minutes: 60, max_mb: 64 });
  });

  it("says what became of it, why it was refused, and is revoked", async () => {
    const user = userEvent.setup();
    open("/captures?dialog=import");
    const rows = await screen.findByRole("region", { name: "Upload addresses" });
    expect(rows).toHaveTextContent(/cut off after 4096 bytes/);
    expect(within(rows).getByRole("link", { name: /KiB/ })).toBeVisible();
    const name = "Revoke the address for console-2";
    await user.click(within(rows).getByRole("button", { name }));
    await user.click((await screen.findAllByRole("button", { name })).at(-1) as HTMLElement);
    expect(await within(rows).findByText("revoked")).toBeVisible();
  });
});
