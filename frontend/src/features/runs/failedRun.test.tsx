import { screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it } from "vitest";
import { findRun } from "../../../mock/captures/reads";
import { CAPTURES } from "../../../mock/dataset";
import { overrideAnswer } from "../../../mock/server/msw";
import { openScreen } from "../../testing/screen";

const ID = CAPTURES[0]?.runs[0]?.id ?? "";
const RUN = findRun(ID, CAPTURES);

afterEach(() => overrideAnswer(undefined));

/** Answer with a failed run without a failure of its own, whose collectors have a state. */
function answerFailedRun(state: string): void {
  const collectors = RUN?.collectors.map((collector) => ({ ...collector, state }));
  const run = { ...RUN, state: "failed", failure: null, collectors };
  overrideAnswer(({ path }) => (path === `/runs/${ID}` ? { status: 200, body: run } : undefined));
}

it("states that no collector returned data, and names no cause", async () => {
  const user = userEvent.setup();
  answerFailedRun("skipped");
  const router = openScreen(`/runs/${ID}`);
  expect(await screen.findByRole("alert")).toHaveTextContent("No collector returned data");
  expect(await screen.findByText("Run not evaluated")).toBeVisible();
  expect(screen.queryByText("No cause found")).toBeNull();
  await user.click(screen.getByRole("button", { name: "Open collectors" }));
  expect(await screen.findByRole("heading", { name: "Collectors" })).toBeVisible();
  expect(router.state.location.search).toMatchObject({ tab: "collectors" });
  expect(screen.queryByRole("alert")).toBeNull();
});

it("evaluates what the collectors of a failed run returned", async () => {
  answerFailedRun("done");
  openScreen(`/runs/${ID}`);
  await screen.findByRole("tab", { name: "Findings" });
  expect(screen.queryByText(/No collector returned data/)).toBeNull();
});
