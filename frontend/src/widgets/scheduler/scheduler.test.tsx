import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it } from "vitest";
import { createScheduler } from "../../../mock/captures/sched";
import { overrideAnswer } from "../../../mock/server/msw";
import { renderPart } from "../../testing/screen";
import { SchedulerPanel } from "./SchedulerPanel";

afterEach(() => overrideAnswer(undefined));

describe("scheduler panel of a run", () => {
  it("selects a thread for wake-ups, and clears the selection with Escape", async () => {
    const user = userEvent.setup();
    renderPart(<SchedulerPanel runId="run" hostId={undefined} hasKeys />);
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
    renderPart(<SchedulerPanel runId="run" hostId={undefined} hasKeys />);
    await screen.findByRole("columnheader", { name: "Task" });
    overrideAnswer(({ path }) =>
      path.endsWith("/sched") ? { status: 200, body: { ...createScheduler(), tasks: [] } } : undefined,
    );
    await user.keyboard("w");
    expect(await screen.findByText("No task ran in the selected time.")).toBeVisible();
    expect(screen.getByRole("button", { name: "Show all time" })).toBeVisible();
    await user.keyboard("0");
    expect(await screen.findByRole("columnheader", { name: "Task" })).toBeVisible();
  });

  it("states how many threads are listed, and finds the others", async () => {
    const user = userEvent.setup();
    const tasks = createScheduler().tasks.map((task, i) => ({
      ...task,
      task: i === 139 ? "rare" : "common",
      tid: i + 1,
    }));
    overrideAnswer(({ path }) =>
      path.endsWith("/sched")
        ? {
            status: 200,
            body: {
              ...createScheduler(),
              tasks: tasks.map((task, i) => ({ ...task, delay_max_ms: 140 - i })),
            },
          }
        : undefined,
    );
    renderPart(<SchedulerPanel runId="run" hostId={undefined} />);
    expect(await screen.findByText("100 of 140 threads")).toBeVisible();
    expect(screen.queryByRole("button", { name: /rare/ })).toBeNull();
    await user.type(screen.getByRole("textbox", { name: "Search threads" }), "RARE");
    expect(await screen.findByText("1 of 140 threads")).toBeVisible();
    expect(screen.getByRole("button", { name: /rare/ })).toBeVisible();
  });
});
