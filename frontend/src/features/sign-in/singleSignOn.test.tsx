import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { state } from "../../../mock/api";
import { sentRequests } from "../../../mock/server/msw";
import { openScreen } from "../../testing/screen";

const PROVIDER = structuredClone(state.provider);

beforeEach(() => {
  vi.spyOn(window.location, "assign").mockImplementation(() => undefined);
});
afterEach(() => {
  state.signedIn = true;
  state.provider = structuredClone(PROVIDER);
  vi.restoreAllMocks();
});

describe("signing in with an identity provider", () => {
  it("redirects to the provider, with the path to return to", async () => {
    const user = userEvent.setup();
    state.signedIn = false;
    openScreen("/login?next=%2Fhosts");
    await user.click(await screen.findByRole("button", { name: "Sign in with Example ID" }));
    await waitFor(() =>
      expect(window.location.assign).toHaveBeenCalledWith("https://id.example.com/authorize?state=mock"),
    );
    expect(sentRequests.find((request) => request.path === "/session/oidc")?.body).toEqual({
      next: "/hosts",
    });
  });

  it("shows the message of a known refusal reason", async () => {
    state.signedIn = false;
    openScreen("/login?refused=no_role");
    expect(await screen.findByRole("alert")).toHaveTextContent("None of your groups is mapped to a role.");
  });

  it("ignores unknown reasons in the URL", async () => {
    state.signedIn = false;
    openScreen("/login?refused=call+this+number");
    expect(await screen.findByRole("heading", { name: "Sign in" })).toBeVisible();
    expect(screen.queryByRole("alert")).not.toBeInTheDocument();
  });

  it("offers only a password if no provider is configured", async () => {
    state.signedIn = false;
    state.provider = null;
    openScreen("/login");
    expect(await screen.findByLabelText(/Password/)).toBeVisible();
    expect(screen.queryByRole("button", { name: /Sign in with/ })).not.toBeInTheDocument();
  });
});

describe("the settings of single sign-on", () => {
  it("keep the secret, and send groups with their roles", async () => {
    const user = userEvent.setup();
    openScreen("/settings/signOn");
    await user.click(await screen.findByRole("button", { name: "Add group" }));
    await user.type(screen.getByLabelText("Group 3"), "feed-developers");
    await user.click(screen.getByRole("button", { name: "Save" }));
    await waitFor(() => expect(sentRequests.some((request) => request.method === "PUT")).toBe(true));
    const body = sentRequests.findLast((request) => request.method === "PUT")?.body;
    expect(body).toMatchObject({ client_secret: null, version: 3, default_role: "viewer" });
    expect(body?.roles).toContainEqual({ group: "feed-developers", role: "viewer" });
  });

  it("require the secret again when the issuer changes", async () => {
    const user = userEvent.setup();
    openScreen("/settings/signOn");
    const issuer = await screen.findByLabelText(/Issuer/);
    await user.clear(issuer);
    await user.type(issuer, "https://other.example");
    expect(screen.getByRole("button", { name: "Save" })).toBeDisabled();
    await user.type(screen.getByLabelText("Client secret"), "new secret");
    expect(screen.getByRole("button", { name: "Save" })).toBeEnabled();
  });

  it("determine the role of single sign-on users by group, not in the user list", async () => {
    const user = userEvent.setup();
    openScreen("/settings/users");
    const row = (await screen.findByText("single sign-on")).closest("tr") as HTMLElement;
    await user.click(within(row).getByRole("button"));
    expect(await screen.findByText("Role by group")).toBeVisible();
    expect(screen.queryByRole("menuitem", { name: /Create login link/ })).not.toBeInTheDocument();
  });
});
