import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it } from "vitest";
import { state } from "../../../../mock/api";
import { sentRequests } from "../../../../mock/server/msw";
import { openScreen } from "../../../testing/screen";

const first = structuredClone(state.debuginfodServers);

afterEach(() => {
  state.role = "admin";
  state.debuginfodServers = structuredClone(first);
  sentRequests.length = 0;
});

const TITLE = "Debuginfod";

describe("the page of debuginfod servers", () => {
  it("states what is sent, and lists the servers in the order of requests", async () => {
    openScreen("/settings/debuginfod");
    const table = await screen.findByRole("region", { name: TITLE });
    const rows = within(table).getAllByRole("row").slice(1);
    expect(rows.map((row) => within(row).getAllByRole("cell")[0]?.textContent)).toEqual(
      first.map((server) => server.url),
    );
    expect(screen.getByText(/^Sent: the build IDs of stripped programs/)).toBeVisible();
    expect(screen.getByText(/Without a server, nothing is sent/)).toBeVisible();
  });

  it("adds and removes a server", async () => {
    const user = userEvent.setup();
    openScreen("/settings/debuginfod");
    const add = await screen.findByRole("button", { name: "Add" });
    expect(add).toBeDisabled();
    await user.type(screen.getByLabelText(/Address of the server/), " https://symbols.example.org ");
    await user.click(add);
    const cell = await screen.findByText("https://symbols.example.org");
    expect(
      sentRequests.filter(({ method }) => method === "POST").map(({ path, body }) => [path, body]),
    ).toEqual([[expect.stringContaining("/debuginfod-servers"), { url: "https://symbols.example.org" }]]);
    const row = cell.closest("tr") as HTMLElement;
    await user.click(within(row).getByRole("button"));
    await user.click(await screen.findByText("Remove https://symbols.example.org"));
    await expect
      .poll(() => state.debuginfodServers.map((server) => server.url))
      .toEqual(first.map((server) => server.url));
  });

  it("states that nothing is sent without a server", async () => {
    state.debuginfodServers = [];
    openScreen("/settings/debuginfod");
    expect(await screen.findByText("No servers. Nothing is sent.")).toBeVisible();
  });

  it("is for admins only", async () => {
    state.role = "oncall";
    openScreen("/settings/debuginfod");
    expect(await screen.findByRole("link", { name: "Account" })).toBeVisible();
    expect(screen.queryByText(/^Sent:/)).toBeNull();
    expect(screen.queryByRole("link", { name: TITLE })).toBeNull();
  });
});
