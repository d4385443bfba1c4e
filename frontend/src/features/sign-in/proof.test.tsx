import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { state } from "../../../mock/api";
import { sentRequests } from "../../../mock/server/msw";
import { REAUTHENTICATED_KEY } from "../../lib/proof";
import { setLocale } from "../../lib/text/i18n";
import { openScreen } from "../../testing/screen";

beforeEach(() => {
  sentRequests.length = 0;
});
afterEach(async () => {
  state.proofNeeded = null;
  await setLocale("en");
});

const attempts = () =>
  sentRequests.filter((request) => request.method === "POST" && request.path === "/users");

async function addUser(user: ReturnType<typeof userEvent.setup>) {
  openScreen("/settings/users");
  await user.type(await screen.findByLabelText(/^Name/), "ada");
  await user.click(screen.getByRole("button", { name: /Add|Make|Create/ }));
}

describe("a change that needs reauthentication", () => {
  it("asks for the password and repeats the action", async () => {
    const user = userEvent.setup();
    state.proofNeeded = "password";
    await addUser(user);
    const dialog = await screen.findByRole("dialog", { name: "Confirm your identity" });
    await user.type(within(dialog).getByLabelText(/password/i), "wrong");
    await user.click(within(dialog).getByRole("button", { name: "Continue" }));
    expect(await within(dialog).findByRole("alert")).toHaveTextContent("The current password is wrong.");
    expect(attempts()).toHaveLength(1);
    await user.clear(within(dialog).getByLabelText(/password/i));
    await user.type(within(dialog).getByLabelText(/password/i), "correct horse");
    await user.click(within(dialog).getByRole("button", { name: "Continue" }));
    await waitFor(() => expect(attempts()).toHaveLength(2));
    expect(attempts()[1]?.body).toEqual(attempts()[0]?.body);
    await waitFor(() => expect(screen.queryByRole("dialog", { name: "Confirm your identity" })).toBeNull());
  });

  it("opens the identity provider in a tab and continues when that tab has finished", async () => {
    const user = userEvent.setup();
    state.proofNeeded = "provider";
    await addUser(user);
    const link = await screen.findByRole("link", { name: "Open identity provider" });
    await waitFor(() => expect(link).toHaveAttribute("href", "https://id.example.com/authorize?state=proof"));
    expect(link).toHaveAttribute("target", "_blank");
    expect(sentRequests.find((request) => request.path === "/session/oidc/proof")?.body).toEqual({
      next: "/proved",
    });
    state.proofNeeded = null;
    window.dispatchEvent(new StorageEvent("storage", { key: REAUTHENTICATED_KEY, newValue: "1" }));
    await waitFor(() => expect(attempts()).toHaveLength(2));
  });

  it("does nothing if the user cancels, and shows the reason", async () => {
    const user = userEvent.setup();
    state.proofNeeded = "password";
    await addUser(user);
    const dialog = await screen.findByRole("dialog", { name: "Confirm your identity" });
    await user.click(within(dialog).getByRole("button", { name: "Close" }));
    expect(await screen.findByText(/Reauthenticate, then repeat the action/)).toBeVisible();
    expect(attempts()).toHaveLength(1);
  });

  it("is translated into Chinese", async () => {
    const user = userEvent.setup();
    state.proofNeeded = "password";
    await addUser(user);
    await screen.findByRole("dialog", { name: "Confirm your identity" });
    await setLocale("zh");
    expect(await screen.findByRole("dialog", { name: "确认你的身份" })).toBeVisible();
  });
});

describe("the page after the identity provider", () => {
  it("asks to close the tab", async () => {
    openScreen("/proved");
    expect(await screen.findByRole("status")).toHaveTextContent("Close this tab");
  });
});
