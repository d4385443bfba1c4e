import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { state } from "../../../mock/api";
import { HOSTS } from "../../../mock/dataset";
import { overrideAnswer, sentRequests } from "../../../mock/server/msw";
import { openScreen } from "../../testing/screen";
import { parseLinkToken, toSafePath } from "./SignInPage";

beforeEach(() => {
  state.hosts = HOSTS.slice(0, 3);
  vi.spyOn(window.location, "assign").mockImplementation(() => undefined);
});
afterEach(() => {
  state.signedIn = true;
  state.needsPassword = false;
  state.empty = false;
  state.hosts = [...HOSTS];
  vi.restoreAllMocks();
});

describe("signing in", () => {
  it("is required of users without a session, and returns to their destination", async () => {
    state.signedIn = false;
    const router = openScreen("/captures?state=failed");
    expect(await screen.findByRole("heading", { name: "Sign in" })).toBeVisible();
    expect(router.state.location.search).toMatchObject({ next: "/captures?state=failed" });
  });

  it("shows that name or password is wrong", async () => {
    const user = userEvent.setup();
    state.signedIn = false;
    openScreen("/login");
    await user.type(await screen.findByLabelText(/Name/), "admin");
    await user.type(screen.getByLabelText(/Password/), "nope");
    await user.click(screen.getByRole("button", { name: "Sign in" }));
    expect(await screen.findByRole("alert")).toHaveTextContent("Wrong name or password.");
  });

  it("redirects only to paths on this server", () => {
    expect(toSafePath("/hosts?q=a")).toBe("/hosts?q=a");
    for (const bad of [
      undefined,
      "https://evil.example",
      "//evil.example",
      "/\\evil.example",
      "javascript:1",
      "/login",
    ])
      expect(toSafePath(bad)).toBe("/");
  });

  it("reads the token of a link from the fragment", () => {
    expect(parseLinkToken("token=abc")).toBe("abc");
    expect(parseLinkToken("#link=abc&x=1")).toBe("abc");
    expect(parseLinkToken("nothing")).toBeUndefined();
  });
});

describe("a first-login link", () => {
  it("requires a password that is long enough and entered twice", async () => {
    const user = userEvent.setup();
    state.signedIn = false;
    openScreen("/login#token=fresh");
    expect(await screen.findByRole("heading", { name: "Set password" })).toBeVisible();
    const [first, second] = screen.getAllByLabelText(/New password|Repeat password/) as [
      HTMLElement,
      HTMLElement,
    ];
    await user.type(first, "short");
    await user.type(second, "other");
    await user.click(screen.getByRole("button", { name: /Set password/ }));
    expect(await screen.findByText("Enter at least 10 characters.")).toBeVisible();
    expect(sentRequests.some((request) => request.method === "PATCH")).toBe(false);
    await user.clear(first);
    await user.clear(second);
    await user.type(first, "long enough for all");
    await user.type(second, "long enough for all");
    await user.click(screen.getByRole("button", { name: /Set password/ }));
    await waitFor(() =>
      expect(sentRequests.find((request) => request.method === "PATCH")?.body).toEqual({
        password: "long enough for all",
      }),
    );
  });

  it("shows an error if it was already used", async () => {
    state.signedIn = false;
    openScreen("/login#token=used");
    expect(await screen.findByRole("alert")).toHaveTextContent("was used or has expired");
  });
});

describe("the first visit", () => {
  it("has three entry points, and one click captures this machine", async () => {
    const user = userEvent.setup();
    state.empty = true;
    const router = openScreen("/");
    expect(await screen.findByText("Welcome to Culprit")).toBeVisible();
    expect(screen.getByRole("link", { name: "Add host" })).toBeVisible();
    expect(screen.getByRole("button", { name: "Open example recording" })).toBeVisible();
    await screen.findByText(/collectors, about/);
    await user.click(screen.getByRole("button", { name: "Capture now" }));
    await waitFor(() => expect(router.state.location.pathname).toMatch(/^\/captures\//));
    const posts = sentRequests.filter((request) => request.method === "POST").map((request) => request.path);
    expect(posts.indexOf("/demo/load")).toBeGreaterThan(-1);
    expect(posts.indexOf("/demo/load")).toBeLessThan(posts.indexOf("/captures"));
  });
});

describe("a server error", () => {
  it("is reported with its status, unlike a server that is down", async () => {
    overrideAnswer(({ path }) => (path === "/captures" ? { status: 500, body: "not even JSON" } : undefined));
    openScreen("/captures");
    expect(await screen.findByRole("alert")).toHaveTextContent("The server failed (status 500). Try again.");
  });
});
