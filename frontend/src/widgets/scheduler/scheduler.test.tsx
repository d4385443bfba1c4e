import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it } from "vitest";
import { sched } from "../../../mock/captures/sched";
import { answerInstead } from "../../../mock/server/msw";
import { openPart } from "../../testing/screen";
import { SchedulerPanel } from "./SchedulerPanel";

afterEach(() => answerInstead(undefined));

describe("scheduler panel of a run", () => {
  it("selects a thread for wake-ups, and clears the selection with Escape", async () => {
    const user = userEvent.setup();
    openPart(<SchedulerPanel runId="run" hostId={undefined} hasKeys />);
    const table = await screen.findByRole("region", { name: "Scheduling" });
    const row = within(table).getAllByRole("row")[1] as HTMLElement;
    const task = within(row).getByRole("button");
    expect(task).toHaveAttribute("aria-pressed", "false");
    await user.click(task);
    await waitFor(() => expect(task).toHaveAttribute("aria-pressed", "true"));
    expect(screen.getByRole("button", { name: /^Wake-ups of/ })).toBeVisible();
    await user.keyboard("{Escape}");
    await waitFor(() => expect(task).toHaveAttribute("aria-pressed", "false"));
  });

  it("requests only the tasks of the selected time", async () => {
    const user = userEvent.setup();
    openPart(<SchedulerPanel runId="run" hostId={undefined} hasKeys />);
    await screen.findByRole("columnheader", { name: "Task" });
    answerInstead(({ path }) =>
      path.endsWith("/sched") ? { status: 200, body: { ...sched(), tasks: [] } } : undefined,
    );
    await user.keyboard("w");
    expect(await screen.findByText("No task ran in the selected time.")).toBeVisible();
    expect(screen.getByRole("button", { name: "Show all time" })).toBeVisible();
    await user.keyboard("0");
    expect(await screen.findByRole("columnheader", { name: "Task" })).toBeVisible();
  });
});
