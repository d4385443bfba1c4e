import { screen, waitFor } from "@testing-library/react";
import { afterEach, describe, expect, it } from "vitest";
import { overrideAnswer } from "../../mock/server/msw";
import { state } from "../../mock/server/state";
import { listFailingParts, type PlatformPart, type PlatformState } from "../lib/platform";
import { openScreen } from "../testing/screen";

const READY = state.platform;
const CHECKS = { database: "ok", migrations: "ok", broker: "ok" };
const SINCE = new Date(Date.now() - 20_000).toISOString();
const degraded = (parts: Record<string, PlatformPart>, checks = {}): PlatformState => ({
  state: "degraded",
  checks: { ...CHECKS, ...checks },
  parts,
});

afterEach(() => {
  state.platform = READY;
  state.signedIn = true;
});

describe("platform status bar", () => {
  it("is absent while all parts work", async () => {
    state.platform = degraded({ api: { state: "ok", restarts: 3, signal: "SIGKILL" } });
    openScreen("/captures");
    await screen.findByRole("navigation", { name: "Main" });
    expect(screen.queryByText(/The API/)).toBeNull();
  });

  it("displays a restarting part with its signal and time of failure", async () => {
    state.platform = degraded({ "worker-ssh": { state: "restarting", since: SINCE, signal: "SIGKILL" } });
    openScreen("/captures");
    const text = await screen.findByText("The SSH worker stopped and is being restarted.");
    const band = text.closest("[role=status]");
    expect(band).toHaveTextContent("It was killed by SIGKILL.");
    expect(band).toHaveTextContent(/ago/);
    expect(band).toHaveTextContent("Captures and preflight checks wait.");
    expect(band).not.toHaveTextContent("./culprit");
    expect(band).toHaveAttribute("data-temporary");
  });

  it("displays the impact of a failed part and the next action", async () => {
    state.platform = degraded({ scheduler: { state: "failed", since: SINCE, exit_code: 1 } });
    openScreen("/captures");
    const band = (await screen.findByText("The scheduler failed.")).closest("[role=status]");
    expect(band).toHaveTextContent("It ended with exit code 1.");
    expect(band).toHaveTextContent("Scheduled captures do not start");
    expect(band).toHaveTextContent("run ./culprit retry");
    expect(band).not.toHaveAttribute("data-temporary");
  });

  it("displays that the database is unavailable, even if the page fails to load", async () => {
    state.platform = { state: "not_ready", checks: { ...CHECKS, database: "away" }, parts: {} };
    overrideAnswer(() => ({ status: 503, body: { title: "Unavailable", status: 503, detail: "", key: "" } }));
    openScreen("/captures");
    await waitFor(() => expect(screen.getByText("The database does not answer.")).toBeVisible());
  });

  it("is absent without a signed-in user", async () => {
    state.signedIn = false;
    state.platform = degraded({ scheduler: { state: "failed" } });
    openScreen("/captures");
    await screen.findByRole("button", { name: "Sign in" });
    expect(screen.queryByText("The scheduler failed.")).toBeNull();
  });

  it("lists the worst state first, and includes failed checks of parts without a process", () => {
    const parts = { "worker-ssh": { state: "restarting" }, scheduler: { state: "failed" } } as const;
    const troubles = listFailingParts(degraded(parts, { broker: "away" }));
    expect(troubles.map(({ name, state }) => [name, state])).toEqual([
      ["scheduler", "failed"],
      ["valkey", "away"],
      ["worker-ssh", "restarting"],
    ]);
    expect(listFailingParts(degraded({}, { migrations: "at 0001, needs 0002" }))).toMatchObject([
      { name: "schema", state: "failed" },
    ]);
  });
});
