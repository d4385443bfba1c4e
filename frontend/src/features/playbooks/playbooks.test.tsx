import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it } from "vitest";
import { state } from "../../mock/api";
import { answerInstead } from "../../mock/msw";
import { chainOf, PLAYBOOKS } from "../../mock/playbooks";
import { CAPTURES } from "../../mock/world";
import { open } from "../testing/screen";

const RUN = CAPTURES.find((one) => one.state === "done")?.runs[0]?.id ?? "";
const TRIED = `/playbooks?playbook=requests-wait-for-cpu&run=${RUN}`;

/** One step of the chain, by its question. */
const stepOf = async (asks: RegExp) => {
  const found = (await screen.findByRole("heading", { level: 3, name: asks })).closest("li");
  if (!found) throw new Error("a step is an item of a list");
  return within(found);
};

afterEach(() => {
  state.role = "admin";
});

describe("the catalogue of playbooks", () => {
  it("is searched by rule and narrowed by kind, and opens one beside it", async () => {
    const user = userEvent.setup();
    const router = open("/playbooks");
    const list = within(await screen.findByRole("navigation", { name: "Playbooks" }));
    expect(list.getAllByRole("button")).toHaveLength(PLAYBOOKS.length);
    expect(list.getByRole("button", { name: /Requests wait for a CPU.*4 steps.*1 card/ })).toBeVisible();
    await user.click(screen.getByRole("radio", { name: "References 1" }));
    expect(list.getAllByRole("button")).toHaveLength(1);
    await user.click(list.getByRole("button", { name: /What the load average means/ }));
    expect(router.state.location.search).toMatchObject({ kind: "reference", playbook: "what-load-means" });
    await user.click(screen.getByRole("radio", { name: "All 3" }));
    await user.type(screen.getByRole("textbox", { name: "Search by symptom, rule or cause" }), "f-disk");
    await waitFor(() => expect(list.getAllByRole("button")).toHaveLength(1));
  });

  it("says so where there is none of that name", async () => {
    open("/playbooks?playbook=nowhere");
    expect(await screen.findByText("There is no nowhere")).toBeVisible();
  });
});

describe("a playbook", () => {
  it("says what it does not cover, and names causes and numbers", async () => {
    open("/playbooks?playbook=requests-wait-for-cpu");
    expect(await screen.findByText(/Goroutines and fibers that wait inside their runtime/)).toBeVisible();
    const [cause] = await screen.findAllByRole("link", { name: "More runnable threads than CPUs" });
    expect(cause).toHaveAttribute("href", "/rules?cause=cpu-oversubscribed&view=causes");
    expect(screen.getByText("A fix lowers: Delay per switch")).toBeVisible();
  });

  it("asks one question after the other, and shows where each verdict leads", async () => {
    open("/playbooks?playbook=requests-wait-for-cpu");
    const first = await stepOf(/How long do runnable threads wait/);
    expect(await first.findByRole("link", { name: "Runnable threads wait for a CPU" })).toHaveAttribute(
      "href",
      "/rules?rule=F-CPU-RUNQ-DELAY",
    );
    const ways = within(first.getByRole("list", { name: "Where each verdict leads" }));
    expect(ways.getAllByRole("listitem").map((one) => one.textContent)).toEqual([
      "supports→2 Which pool are these threads?",
      "refutes→4 Or for a disk?",
      "otherwise→3 Do they wait for one lock?",
    ]);
    const person = await stepOf(/Which pool are these threads/);
    expect(person.getByText(/The table of threads: names with a high delay/)).toBeVisible();
    expect(screen.queryByText("Missing link")).toBeNull();
  });

  it("has cards with a command to copy, its risk and its way back", async () => {
    open("/playbooks?playbook=requests-wait-for-cpu");
    expect(await screen.findByText(/set-property --runtime feed.service/)).toBeVisible();
    expect(screen.getByText("What this group gains, others on the host lose.")).toBeVisible();
    expect(screen.getByText("Set the old value.")).toBeVisible();
    expect(screen.getByRole("link", { name: "perf-sched(1)" })).toHaveAttribute("rel", "noreferrer");
  });
});

describe("a playbook tried on a run", () => {
  it("names its gaps, the way that was taken, and each number at its line", async () => {
    open(TRIED);
    expect(await screen.findByText("2 links are missing")).toBeVisible();
    const first = await stepOf(/How long do runnable threads wait/);
    expect(
      await first.findByRole("link", { name: /^Delay per switch 44\.1.ms: open .*line/ }),
    ).toHaveAttribute("href", expect.stringContaining("line=1184"));
    expect(first.getByText("taken").closest("li")).toHaveTextContent(/^supports.*Which pool/);
    const lock = await stepOf(/Do they wait for one lock/);
    expect(lock.getByText("Missing link")).toBeVisible();
    expect(lock.getByText("not collected")).toBeVisible();
    expect((await stepOf(/Or for a disk/)).queryByText("Missing link")).toBeNull();
  });

  it("says why a rule that fired settles nothing", async () => {
    const chain = chainOf(RUN);
    const answers = chain.answers.map((one) =>
      one.step === "waiting" ? { ...one, verdict: "inconclusive" as const } : one,
    );
    answerInstead(({ path }) =>
      path.endsWith("/chain") ? { status: 200, body: { ...chain, gaps: ["waiting"], answers } } : undefined,
    );
    open(TRIED);
    expect(await screen.findByText("1 link is missing")).toBeVisible();
    const first = await stepOf(/How long do runnable threads wait/);
    expect(first.getByText("The rule fired; that alone settles nothing here.")).toBeVisible();
    expect(first.getByText("taken").closest("li")).toHaveTextContent(/^otherwise/);
  });

  it("tells where each hypothesis stands", async () => {
    open(TRIED);
    const stand = (await screen.findByText("Threads wait for a disk")).closest("li");
    expect(await within(stand as HTMLElement).findByText("refuted")).toBeVisible();
    expect(stand).toHaveTextContent("against it: step 4");
  });

  it("proposes one next step, with its reason, and collects for it on the same host", async () => {
    const user = userEvent.setup();
    const router = open(TRIED);
    const next = within(await screen.findByRole("region", { name: "Next step" }));
    expect(next.getByText(/It tells most about H2 \(Threads wait for one lock/)).toBeVisible();
    expect(next.getByText("deep")).toBeVisible();
    await user.click(await next.findByRole("button", { name: /^Collect / }));
    await waitFor(() =>
      expect(router.state.location.search).toMatchObject({ dialog: "capture", with: "perf_sched" }),
    );
  });

  it("offers nothing that a role may not run", async () => {
    state.role = "viewer";
    open(TRIED);
    const next = within(await screen.findByRole("region", { name: "Next step" }));
    expect(next.queryByRole("button")).toBeNull();
  });

  it("says so where gaps stay that nothing would close", async () => {
    answerInstead(({ path }) =>
      path.endsWith("/chain") ? { status: 200, body: { ...chainOf(RUN), next: null } } : undefined,
    );
    open(TRIED);
    expect(
      await screen.findByText("Links are missing, and nothing that you may run would close them."),
    ).toBeVisible();
  });

  it("is chosen among the newest runs, and stands in the address", async () => {
    const user = userEvent.setup();
    const router = open("/playbooks?playbook=requests-wait-for-cpu");
    await user.click(await screen.findByRole("combobox", { name: "Run" }));
    const [newest] = await screen.findAllByRole("option");
    await user.click(newest as HTMLElement);
    await waitFor(() => expect(router.state.location.search).toHaveProperty("run"));
    expect(await screen.findByText("2 links are missing")).toBeVisible();
  });
});

describe("one's own playbook", () => {
  it("is checked: every mistake with its place, and a sound one is shown", async () => {
    const user = userEvent.setup();
    open("/playbooks");
    await user.click(await screen.findByRole("button", { name: "Check one of your own" }));
    const yaml = await screen.findByRole("textbox", { name: "Playbook as YAML" });
    await user.type(yaml, "id: mine");
    await user.click(screen.getByRole("button", { name: "Check" }));
    expect(await screen.findByText("1 mistake")).toBeVisible();
    const row = screen.getByRole("cell", { name: "not_covered" }).closest("tr");
    expect(row).toHaveTextContent("Say what it does not cover: no playbook covers everything.");
    await user.type(yaml, "{enter}not_covered:");
    await user.click(screen.getByRole("button", { name: "Check" }));
    expect(await screen.findByText("It is sound. This is how it reads:")).toBeVisible();
    expect(screen.getByRole("heading", { name: "Requests wait for a CPU" })).toBeVisible();
    expect(screen.queryByRole("combobox", { name: "Run" })).toBeNull();
  });
});
