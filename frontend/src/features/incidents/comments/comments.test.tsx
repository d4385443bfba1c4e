import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it } from "vitest";
import { state } from "../../../../mock/api";
import { INCIDENTS } from "../../../../mock/incidents/investigations";
import { sentRequests } from "../../../../mock/server/msw";
import { openScreen } from "../../../testing/screen";

const COMMENTS_URL = `/incidents/${INCIDENTS[0]?.id}?pane=comments`;

afterEach(() => {
  state.role = "admin";
});

const list = () => screen.findByRole("list", { name: "Comments" });

describe("comments on an incident", () => {
  it("show HTML as plain text, URLs as links, and withdrawn comments as withdrawn", async () => {
    openScreen(COMMENTS_URL);
    const comments = within(await list());
    expect(comments.getByText(/<b>do not<\/b> restart it/)).toBeVisible();
    const link = comments.getByRole("link", { name: /wiki\.example\.com/ });
    expect(link).toHaveAttribute("rel", expect.stringContaining("noopener"));
    expect(comments.getByText(/Withdrawn by lena/)).toBeVisible();
    expect(comments.getByText("Edited 1 time")).toBeVisible();
    expect(comments.getByText(/without a personal channel: lena/)).toBeVisible();
  });

  it("suggest names after an @, insert them with Enter, and send with Ctrl+Enter", async () => {
    const user = userEvent.setup();
    openScreen(COMMENTS_URL);
    const box = await screen.findByRole("textbox", { name: "Comment" });
    await user.type(box, "look @w");
    expect(await screen.findByRole("option", { name: "@wei" })).toHaveAttribute("aria-selected", "true");
    await user.keyboard("{Enter}");
    expect(box).toHaveValue("look @wei ");
    await user.keyboard("please{Control>}{Enter}{/Control}");
    await waitFor(() =>
      expect(sentRequests.some((request) => request.path.endsWith("/comments"))).toBe(true),
    );
    expect(sentRequests.findLast((request) => request.method === "POST")?.body).toEqual({
      text: "look @wei please",
      about: "incident",
      ref: "",
    });
    expect(await within(await list()).findByText(/please/)).toBeVisible();
    expect(within(await list()).getByText("Notified: wei")).toBeVisible();
  });

  it("are edited by their author, and Escape cancels the edit", async () => {
    const user = userEvent.setup();
    openScreen(COMMENTS_URL);
    const comments = within(await list());
    await user.click(comments.getAllByRole("button", { name: "Edit" })[0] as HTMLElement);
    const field = comments.getByRole("textbox", { name: "Comment" });
    await user.keyboard("{Escape}");
    expect(field).not.toBeInTheDocument();
  });

  it("are read-only for a viewer", async () => {
    state.role = "viewer";
    openScreen(COMMENTS_URL);
    await list();
    expect(screen.queryByRole("textbox", { name: "Comment" })).not.toBeInTheDocument();
  });

  it("are limited to the newest twenty until the user shows all", async () => {
    const user = userEvent.setup();
    for (let n = 0; n < 25; n++) {
      const body = { text: `look ${n}`, about: "incident", ref: "" };
      await fetch(`/api/v1${COMMENTS_URL.split("?")[0]}/comments`, {
        method: "POST",
        body: JSON.stringify(body),
      });
    }
    openScreen(COMMENTS_URL);
    expect(within(await list()).getByText("look 24")).toBeVisible();
    expect(within(await list()).queryByText("look 0")).not.toBeInTheDocument();
    await user.click(screen.getByRole("button", { name: /^Show all \d+$/ }));
    expect(within(await list()).getByText("look 0")).toBeVisible();
    expect(screen.queryByRole("button", { name: /^Show all/ })).not.toBeInTheDocument();
  });
});
