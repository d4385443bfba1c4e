import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { state } from "../../mock/api";
import { meanwhile, resetIncidents } from "../../mock/incidents";
import { FAILED, RICH, UNDECIDED } from "../../mock/investigations";
import { answerInstead, sent } from "../../mock/msw";
import { problem } from "../../mock/routes";
import { HOSTS } from "../../mock/world";
import { open } from "../testing/screen";

const AT = `/incidents/${RICH.id}`;
const WAITING = "requests-wait-for-cpu/waiting";
const LOCK = "requests-wait-for-cpu/lock";

const next = async () => within(await screen.findByRole("region", { name: "Next step" }));
const posted = (path: string) => sent.filter((one) => one.method !== "GET" && one.path.endsWith(path));

beforeEach(() => {
  resetIncidents();
  state.hosts = HOSTS.slice(0, 8);
});
afterEach(() => {
  state.role = "admin";
  state.empty = false;
  state.hosts = [...HOSTS];
});

describe("the next step", () => {
  it("is shown with n, run with n again, and stands there while it runs, with its way out", async () => {
    const user = userEvent.setup();
    open(AT);
    const part = await next();
    expect(part.getByText("deep")).toBeVisible();
    expect(part.queryByText(/perf sched record/)).toBeNull();
    fireEvent.keyDown(document.documentElement, { key: "n", code: "KeyN" });
    expect(await part.findByText(/perf sched record -a/)).toBeVisible();
    expect(posted("/step")).toHaveLength(0);
    const button = part.getByRole("button", { name: /^Run/ });
    await waitFor(() => expect(button).toHaveFocus());
    fireEvent.keyDown(button, { key: "n", code: "KeyN" });
    await waitFor(() => expect(posted("/step")).toHaveLength(1));
    expect(posted("/step")[0]?.body).toEqual({ step: LOCK, host_id: HOSTS[1]?.id, version: RICH.version });
    await user.click(await part.findByRole("button", { name: "Cancel the capture" }));
    await waitFor(() => expect(posted("/cancel")).toHaveLength(1));
  });

  it("asks for what nobody has told it yet, and goes on with the answer", async () => {
    const user = userEvent.setup();
    answerInstead(({ path, body }) =>
      path.endsWith("/step") && !body.options
        ? problem(422, "incident.asks_peer", "peer", {
            step: LOCK,
            collector: "perf_sched",
            option: "address",
          })
        : undefined,
    );
    open(AT);
    const part = await next();
    await user.click(part.getByRole("button", { name: /^Run/ }));
    expect(await part.findByText(/which address and port do the connections go to/)).toBeVisible();
    await user.type(part.getByRole("textbox", { name: /address/ }), "10.0.0.2{Enter}");
    await waitFor(() => expect(posted("/step")).toHaveLength(2));
    expect(posted("/step")[1]?.body).toEqual({
      step: LOCK,
      host_id: HOSTS[1]?.id,
      options: { perf_sched: { address: "10.0.0.2" } },
      version: RICH.version,
    });
    answerInstead(undefined);
  });

  it("is not offered to who may only look", async () => {
    state.role = "viewer";
    open(AT);
    const part = await next();
    expect(part.queryByRole("button", { name: /^Run/ })).toBeNull();
    expect(part.getByText("Your role may not run deep collectors.")).toBeVisible();
  });
});

describe("what several people change", () => {
  it("is not overwritten: what changed is shown, what was typed is kept, and goes on top", async () => {
    const user = userEvent.setup();
    open(`${AT}?pane=journal`);
    const note = await screen.findByRole("textbox", { name: "Write something down" });
    await user.type(note, "mine");
    meanwhile(RICH.id, "Restarted feed on the third host.");
    fireEvent.click(screen.getByRole("button", { name: "Write down" }));
    const alert = within(await screen.findByRole("alert"));
    expect(alert.getByText(/lena changed this incident since you opened it \(a note\)/)).toBeVisible();
    expect(await alert.findByText("Restarted feed on the third host.")).toBeVisible();
    expect(note).toHaveValue("mine");
    await user.click(alert.getByRole("button", { name: "Send mine on top of that" }));
    await waitFor(() => expect(note).toHaveValue(""));
    expect(posted("/notes").at(-1)?.body).toEqual({ note: "mine", version: RICH.version + 1 });
  });

  it("is told in the words of the screen", async () => {
    open(`${AT}?pane=journal`);
    expect(await screen.findByText(/2 · Which pool are these threads\?: supports/)).toBeVisible();
    expect(screen.getByText("lena has it open")).toBeInTheDocument();
  });
});

describe("the state of an incident", () => {
  it("is refused with the open steps, which can be waived there with one reason for a playbook", async () => {
    const user = userEvent.setup();
    open(`${AT}?act=state&what=resolved`);
    const dialog = within(await screen.findByRole("dialog"));
    await user.click(dialog.getByRole("button", { name: "Resolve" }));
    expect(await dialog.findByText(/1 steps on the path are unanswered: 3 · Do they wait/)).toBeVisible();
    const steps = within(dialog.getByRole("list", { name: "Open steps" }));
    await user.type(steps.getByRole("textbox"), "nobody has a lock there");
    expect(steps.queryByRole("button", { name: "Set the playbook aside" }), "a cause is of it").toBeNull();
    await user.click(steps.getByRole("checkbox", { name: /^Waive: Do they wait/ }));
    expect(steps.getByRole("button", { name: "Waive 0 steps" })).toBeDisabled();
    await user.click(steps.getByRole("checkbox", { name: /^Waive: Do they wait/ }));
    await user.click(steps.getByRole("button", { name: "Waive 1 step" }));
    expect(await dialog.findByText("They are waived, set aside or answered now. Try again.")).toBeVisible();
    expect(posted("/waivers")[0]?.body).toMatchObject({ steps: [LOCK], reason: "nobody has a lock there" });
  });

  it("leads from a refusal to the open step", async () => {
    const user = userEvent.setup();
    const router = open(`${AT}?act=state&what=resolved&step=${WAITING}`);
    const dialog = within(await screen.findByRole("dialog"));
    await user.click(dialog.getByRole("button", { name: "Resolve" }));
    const steps = within(await dialog.findByRole("list", { name: "Open steps" }));
    await user.click(steps.getByRole("button", { name: /Do they wait for one lock/ }));
    await waitFor(() => expect(router.state.location.search).toMatchObject({ step: LOCK }));
    expect(screen.queryByRole("dialog")).toBeNull();
  });
});

describe("a playbook", () => {
  it("is set aside as a whole with one reason, says so, and is taken up again", async () => {
    const user = userEvent.setup();
    open(`/incidents/${UNDECIDED.id}`);
    const decided = () =>
      screen.findAllByRole("button", { name: /^Decided:/ }).then((all) => all[0] as HTMLElement);
    await user.click(await decided());
    await user.click(await screen.findByRole("menuitem", { name: "Set its playbook aside" }));
    const dialog = within(await screen.findByRole("dialog"));
    expect(within(dialog.getByRole("list", { name: "Open steps" })).getByText(/Do they wait/)).toBeVisible();
    await user.type(dialog.getByRole("textbox", { name: "Reason" }), "not our service");
    await user.click(dialog.getByRole("button", { name: "Set the playbook aside" }));
    expect((await screen.findAllByTitle(/Set aside by .*: not our service/))[0]).toBeVisible();
    expect(posted(`/playbooks/${UNDECIDED.playbooks[0]?.id}`)[0]?.body).toMatchObject({ aside: true });
    await user.click(await decided());
    await user.click(await screen.findByRole("menuitem", { name: "Take its playbook up again" }));
    await waitFor(() => expect(screen.queryByTitle(/Set aside by/)).toBeNull());
  });
});

describe("a fix", () => {
  it("is taken from a card, and verified against an untouched host", async () => {
    const user = userEvent.setup();
    const router = open(`${AT}?act=fix&what=requests-wait-for-cpu/crowd`);
    const dialog = within(await screen.findByRole("dialog"));
    await user.click(await dialog.findByRole("combobox", { name: "After a card of the playbook" }));
    await user.click(await screen.findByRole("option", { name: /Bound the number of threads/ }));
    expect(dialog.getByRole("textbox", { name: "Way back" })).toHaveValue("Set the old value.");
    await user.click(dialog.getByRole("button", { name: "Save the fix" }));
    await waitFor(() => expect(router.state.location.search).toMatchObject({ pane: "fixes" }));
    expect(posted("/fixes")[0]?.body).toMatchObject({
      card: "requests-wait-for-cpu/bound-the-pool",
      what: "Bound the number of threads",
    });
  });

  it("shows its verification: outcome in words, interval, every capture at its run", async () => {
    const user = userEvent.setup();
    open(`${AT}?pane=fixes`);
    const part = within(await screen.findByRole("region", { name: "Verify" }));
    expect(part.getByText("The fix worked")).toBeVisible();
    expect(part.getByText(/The whole interval is on the good side.*bar of 10 %/)).toBeVisible();
    expect(part.getByRole("img", { name: "The change with its interval against the bar" })).toBeVisible();
    await user.click(part.getByRole("button", { name: /Every capture before and after/ }));
    const table = within(await part.findByRole("region", { name: "Every capture before and after" }));
    expect(table.getAllByRole("row")).toHaveLength(13);
    expect(table.getAllByRole("link", { name: HOSTS[1]?.name ?? "" })[0]).toHaveAttribute(
      "href",
      expect.stringMatching(/^\/runs\//),
    );
  });

  it("draws what changed in the code, and lists which names were taken together", async () => {
    const user = userEvent.setup();
    open(`${AT}?pane=fixes`);
    const part = within(await screen.findByRole("region", { name: "What changed in the code" }));
    expect(await part.findByText(/A is 3 before the fix, B is 3 after it/)).toBeVisible();
    expect(part.getByRole("link", { name: "Open the comparison" })).toHaveAttribute(
      "href",
      expect.stringMatching(/^\/diffs\//),
    );
    await user.click(await part.findByRole("button", { name: /Names that were taken together/ }));
    expect(part.getByRole("cell", { name: "parse, parse.isra.0" })).toBeVisible();
    await user.click(screen.getByRole("button", { name: /Functions by their own share/ }));
    const rows = within(screen.getByRole("region", { name: "Functions by their own share" }));
    expect(rows.getByRole("row", { name: /spin_lock.*41\.0.*2\.0/ })).toBeVisible();
  });

  it("that could not be judged says why", async () => {
    open(`/incidents/${FAILED.id}?pane=fixes`);
    expect(await screen.findByText("No conclusion")).toBeVisible();
    expect(screen.getByText(/The interval is neither within 10 % of nothing/)).toBeVisible();
    expect(screen.getByText(/captures with data are needed before and after/)).toBeVisible();
  });
});

describe("a cause that was wrong", () => {
  it("says what it was with evidence, and the chain shows it with the case to test rules with", async () => {
    const user = userEvent.setup();
    open(AT);
    await user.click((await screen.findAllByRole("button", { name: "This was wrong" }))[0] as HTMLElement);
    const dialog = within(await screen.findByRole("dialog"));
    await user.click(dialog.getByRole("combobox", { name: "What it was instead" }));
    await user.click((await screen.findAllByRole("option"))[0] as HTMLElement);
    expect(dialog.getByText(/rests on evidence/)).toBeVisible();
    expect(dialog.getByRole("button", { name: "It was wrong" })).toBeDisabled();
    await user.click(dialog.getAllByRole("checkbox")[0] as HTMLElement);
    await user.click(dialog.getByRole("button", { name: "It was wrong" }));
    expect(await screen.findByText("was not it")).toBeVisible();
    expect(screen.getByText("1 piece of evidence")).toBeVisible();
    expect(screen.getByRole("link", { name: "Download as a regression bundle" })).toHaveAttribute(
      "href",
      `/api/v1/incidents/${RICH.id}/bundle`,
    );
  });
});

describe("the autopilot", () => {
  const stopped = (step: string) => {
    const reason = { key: "autopilot.person", params: { step } };
    const autopilot = { state: "stopped", tier: "light", by: null, capture_id: null, step: null, reason };
    answerInstead(({ path }) =>
      path === `/incidents/${RICH.id}` ? { status: 200, body: { ...RICH, autopilot } } : undefined,
    );
  };

  it("says why it stopped, with the question, for as long as that is the next step", async () => {
    stopped(RICH.next?.step ?? "");
    open(AT);
    const part = await next();
    expect(await part.findByText("The autopilot stopped.")).toBeVisible();
    expect(part.getByText(/The next step is a person's: \d+ · /)).toBeVisible();
  });

  it("does not repeat what is settled", async () => {
    stopped(WAITING);
    open(AT);
    await next();
    expect(screen.queryByText("The autopilot stopped.")).toBeNull();
  });
});

describe("pins from elsewhere", () => {
  it("take the marked lines to the incident that was looked at last", async () => {
    const user = userEvent.setup();
    sessionStorage.setItem("culprit.incident", JSON.stringify({ incident: RICH.id, step: LOCK }));
    open("/artifacts/0193?line=12&lines=12,14");
    await user.click(await screen.findByRole("button", { name: "Pin" }));
    await user.click(await screen.findByRole("button", { name: "Pin to #42" }));
    expect(await screen.findByText("Pinned")).toBeVisible();
    expect(posted("/pins")[0]?.body).toMatchObject({
      kind: "line",
      step: LOCK,
      ref: { artifact_id: "0193", lines: [12, 14] },
      view: "/artifacts/0193?line=12&lines=12,14",
    });
  });

  it("are not offered where no line is marked, nor to who may only look", async () => {
    open("/artifacts/0193");
    expect(await screen.findByRole("button", { name: "Pin" })).toBeDisabled();
  });
});

describe("what is not there", () => {
  it("says so in place", async () => {
    answerInstead(({ path }) =>
      path === `/incidents/${RICH.id}`
        ? { status: 404, body: { status: 404, title: "", detail: "", key: "incident.not_found", params: {} } }
        : undefined,
    );
    open(AT);
    expect(await screen.findByText("There is no such incident.")).toBeVisible();
  });
});
