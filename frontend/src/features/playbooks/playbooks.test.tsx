import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it } from "vitest";
import { createDryRun, PLAYBOOKS } from "../../../mock/analysis/playbooks";
import { state } from "../../../mock/api";
import { CAPTURES } from "../../../mock/dataset";
import { overrideAnswer } from "../../../mock/server/msw";
import { openScreen } from "../../testing/screen";

const RUN = CAPTURES.find((capture) => capture.state === "done")?.runs[0]?.id ?? "";
const DRY_RUN_URL = `/playbooks?playbook=requests-wait-for-cpu&run=${RUN}`;

/** Return the list item of a step by its question. */
const stepOf = async (question: RegExp) => {
  const item = (await screen.findByRole("heading", { level: 3, name: question })).closest("li");
  if (!item) throw new Error("a step must be a list item");
  return within(item);
};

afterEach(() => {
  state.role = "admin";
});

describe("playbook catalog", () => {
  it("filters by rule and kind, and opens a playbook", async () => {
    const user = userEvent.setup();
    const router = openScreen("/playbooks");
    const list = within(await screen.findByRole("navigation", { name: "Playbooks" }));
    expect(list.getAllByRole("button")).toHaveLength(PLAYBOOKS.length);
    expect(
      list.getByRole("button", { name: /Requests wait for a CPU.*4 steps.*1 remediation/ }),
    ).toBeVisible();
    await user.click(screen.getByRole("radio", { name: "References 1" }));
    expect(list.getAllByRole("button")).toHaveLength(1);
    await user.click(list.getByRole("button", { name: /What the load average means/ }));
    expect(router.state.location.search).toMatchObject({ kind: "reference", playbook: "what-load-means" });
    await user.click(screen.getByRole("radio", { name: "All 3" }));
    await user.type(screen.getByRole("textbox", { name: "Search by symptom, rule or cause" }), "f-disk");
    await waitFor(() => expect(list.getAllByRole("button")).toHaveLength(1));
  });

  it("reports an unknown playbook", async () => {
    openScreen("/playbooks?playbook=nowhere");
    expect(await screen.findByText("No playbook is named nowhere")).toBeVisible();
  });
});

describe("playbook details", () => {
  it("lists limits, causes and numbers", async () => {
    openScreen("/playbooks?playbook=requests-wait-for-cpu");
    expect(await screen.findByText(/Goroutines and fibers that wait inside their runtime/)).toBeVisible();
    const [cause] = await screen.findAllByRole("link", { name: "More runnable threads than CPUs" });
    expect(cause).toHaveAttribute("href", "/rules?cause=cpu-oversubscribed&view=causes");
    expect(screen.getByText("A fix lowers: Delay per switch")).toBeVisible();
  });

  it("lists steps with their branches", async () => {
    openScreen("/playbooks?playbook=requests-wait-for-cpu");
    const first = await stepOf(/How long do runnable threads wait/);
    expect(await first.findByRole("link", { name: "Runnable threads wait for a CPU" })).toHaveAttribute(
      "href",
      "/rules?rule=F-CPU-RUNQ-DELAY",
    );
    const branches = within(first.getByRole("list", { name: "Branches" }));
    expect(branches.getAllByRole("listitem").map((item) => item.textContent)).toEqual([
      "supports→2 To which pool do these threads belong?",
      "refutes→4 Or for a disk?",
      "otherwise→3 Do they wait for one lock?",
    ]);
    const person = await stepOf(/To which pool do these threads belong/);
    expect(person.getByText(/Table of threads: names with a high delay/)).toBeVisible();
    expect(screen.queryByText("Open step")).toBeNull();
  });

  it("shows the command, risk and rollback of a remediation", async () => {
    openScreen("/playbooks?playbook=requests-wait-for-cpu");
    expect(await screen.findByText(/set-property --runtime feed.service/)).toBeVisible();
    expect(screen.getByText("Other workloads on the host lose what this group gains.")).toBeVisible();
    expect(screen.getByText("Restore the old value.")).toBeVisible();
    expect(screen.getByRole("link", { name: "perf-sched(1)" })).toHaveAttribute("rel", "noreferrer");
  });
});

describe("dry run", () => {
  it("shows gaps, the selected branch and the source of each number", async () => {
    openScreen(DRY_RUN_URL);
    expect(await screen.findByText("2 missing links")).toBeVisible();
    const first = await stepOf(/How long do runnable threads wait/);
    expect(
      await first.findByRole("link", { name: /^44\.1.ms Delay per switch: open .*line/ }),
    ).toHaveAttribute("href", expect.stringContaining("line=1184"));
    expect(first.getByText("selected").closest("li")).toHaveTextContent(/^supports.*To which pool/);
    const lock = await stepOf(/Do they wait for one lock/);
    expect(lock.getByText("Open step")).toBeVisible();
    expect(lock.getByText("not collected")).toBeVisible();
    expect((await stepOf(/Or for a disk/)).queryByText("Open step")).toBeNull();
  });

  it("explains why a matched rule is inconclusive", async () => {
    const result = createDryRun(RUN);
    const answers = result.answers.map((answer) =>
      answer.step === "waiting" ? { ...answer, verdict: "inconclusive" as const } : answer,
    );
    overrideAnswer(({ path }) =>
      path.endsWith("/dry-run")
        ? { status: 200, body: { ...result, gaps: ["waiting"], answers } }
        : undefined,
    );
    openScreen(DRY_RUN_URL);
    expect(await screen.findByText("1 missing link")).toBeVisible();
    const first = await stepOf(/How long do runnable threads wait/);
    expect(first.getByText("The rule matched; this alone is not conclusive.")).toBeVisible();
    expect(first.getByText("selected").closest("li")).toHaveTextContent(/^otherwise/);
  });

  it("shows the status of each hypothesis", async () => {
    openScreen(DRY_RUN_URL);
    const item = (await screen.findByText("Threads wait for a disk")).closest("li");
    expect(await within(item as HTMLElement).findByText("refuted")).toBeVisible();
    expect(item).toHaveTextContent("refuted by step 4");
  });

  it("proposes a next step and starts its capture on the same host", async () => {
    const user = userEvent.setup();
    const router = openScreen(DRY_RUN_URL);
    const next = within(await screen.findByRole("region", { name: "Next step" }));
    expect(next.getByText(/It distinguishes H2 \(Threads wait for one lock/)).toBeVisible();
    expect(next.getByText("deep")).toBeVisible();
    await user.click(await next.findByRole("button", { name: /^Collect / }));
    await waitFor(() =>
      expect(router.state.location.search).toMatchObject({ dialog: "capture", with: "perf_sched" }),
    );
  });

  it("hides captures that the role cannot run", async () => {
    state.role = "viewer";
    openScreen(DRY_RUN_URL);
    const next = within(await screen.findByRole("region", { name: "Next step" }));
    expect(next.queryByRole("button")).toBeNull();
  });

  it("reports gaps that the role cannot close", async () => {
    overrideAnswer(({ path }) =>
      path.endsWith("/dry-run") ? { status: 200, body: { ...createDryRun(RUN), next: null } } : undefined,
    );
    openScreen(DRY_RUN_URL);
    expect(
      await screen.findByText("Some steps are open, and your role cannot run the collectors they need."),
    ).toBeVisible();
  });

  it("selects a run and stores it in the URL", async () => {
    const user = userEvent.setup();
    const router = openScreen("/playbooks?playbook=requests-wait-for-cpu");
    await user.click(await screen.findByRole("combobox", { name: "Run" }));
    const [newest] = await screen.findAllByRole("option");
    await user.click(newest as HTMLElement);
    await waitFor(() => expect(router.state.location.search).toHaveProperty("run"));
    expect(await screen.findByText("2 missing links")).toBeVisible();
  });
});

describe("custom playbook", () => {
  it("lists errors with their locations, and previews a valid playbook", async () => {
    const user = userEvent.setup();
    openScreen("/playbooks");
    await user.click(await screen.findByRole("button", { name: "Check custom playbook" }));
    const yaml = await screen.findByRole("textbox", { name: "Playbook as YAML" });
    await user.type(yaml, "id: mine");
    await user.click(screen.getByRole("button", { name: "Check" }));
    expect(await screen.findByText("1 error")).toBeVisible();
    const row = screen.getByRole("cell", { name: "not_covered" }).closest("tr");
    expect(row).toHaveTextContent("not_covered is empty. State what the playbook does not cover.");
    await user.type(yaml, "{enter}not_covered:");
    await user.click(screen.getByRole("button", { name: "Check" }));
    expect(await screen.findByText("The playbook is valid. Preview:")).toBeVisible();
    expect(screen.getByRole("heading", { name: "Requests wait for a CPU" })).toBeVisible();
    expect(screen.queryByRole("combobox", { name: "Run" })).toBeNull();
  });
});
