import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it } from "vitest";
import { HOSTS } from "../../mock/dataset";
import { overrideAnswer } from "../../mock/server/msw";
import { respondProblem } from "../../mock/server/routes";
import { openScreen } from "../testing/screen";

const HOST = HOSTS[1] as (typeof HOSTS)[number];

afterEach(() => overrideAnswer(undefined));

describe("the page of a resource that cannot be loaded", () => {
  it("states the status, what to do and where the list is, and loads after a retry", async () => {
    const user = userEvent.setup();
    overrideAnswer(({ path }) =>
      path === `/hosts/${HOST.id}` ? { status: 500, body: { title: "Internal Server Error" } } : undefined,
    );
    openScreen(`/hosts/${HOST.id}`);
    expect(await screen.findByText(/^The server failed \(status 500\)\. Try again\./)).toBeVisible();
    expect(screen.queryByText("Internal Server Error")).toBeNull();
    expect(screen.queryByText("Loading…")).toBeNull();
    const main = screen.getByRole("main");
    expect(main.querySelector('a[href="/hosts"]')).toHaveTextContent("Hosts");
    overrideAnswer(undefined);
    await user.click(screen.getByRole("button", { name: "Try again" }));
    expect(await screen.findByRole("heading", { level: 1, name: HOST.name })).toBeVisible();
  });

  it("displays the reason of the server if it sent one", async () => {
    overrideAnswer(({ path }) =>
      path === `/hosts/${HOST.id}` ? respondProblem(404, "host.not_found", "Host not found.") : undefined,
    );
    openScreen(`/hosts/${HOST.id}`);
    expect(await screen.findByText("Host not found, or you have no access to it.")).toBeVisible();
  });
});
