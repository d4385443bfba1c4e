import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { state } from "../../mock/api";
import { meanwhile, resetIncidents } from "../../mock/incidents";
import { BARE, FAILED, RICH } from "../../mock/investigations";
import { answerInstead, sent } from "../../mock/msw";
import { HOSTS } from "../../mock/world";
import { open } from "../testing/screen";

const AT = `/incidents/${RICH.id}`;
const WAITING = "requests-wait-for-cpu/waiting";
const POOL = "requests-wait-for-cpu/pool";
const LOCK = "requests-wait-for-cpu/lock";

const chain = async () => within(await screen.findByRole("list", { name: "Chain of evidence" }));
const evidence = async () => within(await screen.findByRole("region", { name: "Evidence" }));
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

describe("the list of incidents", () => {
  it("tells what hurts, what it is called, and what is missing", async () => {
    open("/incidents");
    const row = (await screen.findByRole("link", { name: RICH.title })).closest("tr") as HTMLElement;
    expect(row).toHaveTextContent("investigating");
    expect(row).toHaveTextContent(/latency 520.ms → 2.3.s/);
    expect(await within(row).findByText("More runnable threads than CPUs")).toBeVisible();
    expect(row).toHaveTextContent("ready to be resolved");
    const bare = screen.getByRole("link", { name: BARE.title }).closest("tr") as HTMLElement;
    expect(bare).toHaveTextContent("no cause named");
    const failed = screen.getByRole("link", { name: FAILED.title }).closest("tr") as HTMLElement;
    expect(failed).toHaveTextContent("fix not verified");
  });

  it("is narrowed by words, which stand in the address", async () => {
    const user = userEvent.setup();
    const router = open("/incidents");
    await user.type(await screen.findByRole("textbox", { name: "Title, host, service or cause" }), "search");
    await waitFor(() => expect(screen.queryByRole("link", { name: RICH.title })).toBeNull());
    expect(router.state.location.search).toMatchObject({ q: "search" });
  });

  it("begins with three doors where there is none", async () => {
    state.empty = true;
    open("/incidents");
    expect(await screen.findByText("No incident yet")).toBeVisible();
    expect(screen.getByRole("heading", { name: "Capture this machine now" })).toBeVisible();
    expect(screen.getByRole("heading", { name: "Add a host" })).toBeVisible();
    expect(screen.getByRole("heading", { name: "Look at a recording" })).toBeVisible();
  });
});

describe("a new incident", () => {
  it("is sent as it was told, with numbers and units", async () => {
    const user = userEvent.setup();
    const router = open("/incidents?dialog=incident");
    await user.type(await screen.findByRole("textbox", { name: "Title" }), "feed is slow");
    await user.type(screen.getByRole("textbox", { name: "latency, Before" }), "0,5");
    await user.type(screen.getByRole("textbox", { name: "latency, Now" }), "2.3");
    await user.click(screen.getByRole("button", { name: "Open the incident" }));
    await waitFor(() => expect(router.state.location.pathname).toMatch(/^\/incidents\/0193/));
    expect(posted("/incidents")[0]?.body).toMatchObject({
      title: "feed is slow",
      severity: 3,
      symptom: { latency: { before: 0.5, after: 2.3, unit: "ms" }, rate: null },
    });
  });

  it("is not sent with a number that is none", async () => {
    const user = userEvent.setup();
    open("/incidents?dialog=incident");
    await user.type(await screen.findByRole("textbox", { name: "Title" }), "feed is slow");
    await user.type(screen.getByRole("textbox", { name: "errors, Now" }), "many");
    expect(screen.getByRole("button", { name: "Open the incident" })).toBeDisabled();
  });

  it("comes from a diagnosis with its host and its causes", async () => {
    const user = userEvent.setup();
    const { DIAGNOSES } = await import("../../mock/findings");
    const router = open(`/diagnoses/${DIAGNOSES[0]?.id}`);
    await user.click(await screen.findByRole("button", { name: "Open an incident" }));
    await waitFor(() =>
      expect(router.state.location.search).toMatchObject({ dialog: "incident", about: DIAGNOSES[0]?.id }),
    );
    await waitFor(() =>
      expect(screen.getByRole("textbox", { name: "Title" })).toHaveValue(
        `${HOSTS[1]?.name}: More runnable threads than CPUs`,
      ),
    );
    expect(await screen.findByRole("checkbox", { name: /Requests wait for a CPU/ })).toBeVisible();
    await user.click(screen.getByRole("button", { name: "Open the incident" }));
    await waitFor(() => expect(posted("/incidents")).toHaveLength(1));
    expect(posted("/incidents")[0]?.body).toMatchObject({
      diagnosis_id: DIAGNOSES[0]?.id,
      hosts: [{ host_id: HOSTS[1]?.id, scope: { kind: "cgroup", value: "/svc/feed" } }],
    });
  });
});

describe("the chain", () => {
  it("shows verdicts, the missing link and what is below it", async () => {
    open(AT);
    const list = await chain();
    const gap = list.getByRole("button", { name: /Do they wait for one lock/ });
    expect(gap).toHaveTextContent("Missing link");
    expect(gap).toHaveTextContent("Next step");
    const split = list.getByRole("button", { name: /How long do runnable threads wait/ });
    expect(split).toHaveTextContent("disagree");
    expect(list.getByText("for it: step 1")).toBeVisible();
    expect(await list.findByText("Cause: More runnable threads than CPUs")).toBeVisible();
    expect(list.getByText("A fix was verified. Is the symptom gone?")).toBeVisible();
  });

  it("draws what is missing below: no cause, no fix", async () => {
    open(`/incidents/${BARE.id}`);
    const list = await chain();
    expect(list.getByText("No cause named yet")).toBeVisible();
    expect(list.getByText("No fix yet")).toBeVisible();
    expect(list.getByText("No playbook: nothing says what to look at")).toBeVisible();
  });

  it("is walked with j and k, and the address says where", async () => {
    const router = open(`${AT}?step=${WAITING}`);
    await chain();
    fireEvent.keyDown(document.documentElement, { key: "j", code: "KeyJ" });
    await waitFor(() => expect(router.state.location.search).toMatchObject({ step: POOL }));
    fireEvent.keyDown(document.documentElement, { key: "k", code: "KeyK" });
    await waitFor(() => expect(router.state.location.search).toMatchObject({ step: WAITING }));
    const list = await chain();
    expect(list.getByRole("button", { name: /How long do runnable/ })).toHaveAttribute(
      "aria-current",
      "step",
    );
  });

  it("says in the server's words why a hypothesis cannot be confirmed", async () => {
    const user = userEvent.setup();
    open(`/incidents/${FAILED.id}`);
    const list = await chain();
    await user.click(await list.findByRole("button", { name: "Decided: likely. Change" }));
    await user.click(await screen.findByRole("menuitem", { name: "Confirm it" }));
    expect(
      await screen.findByText(/A confirmed cause needs a comparison of before with after/),
    ).toBeVisible();
  });
});

describe("the evidence of a step", () => {
  it("is that of the address: step and host", async () => {
    open(`${AT}?step=${WAITING}&host=${HOSTS[1]?.id}`);
    const pane = await evidence();
    expect(await pane.findByRole("link", { name: /^Delay per switch 44\.1.ms: open .*line/ })).toBeVisible();
    expect(pane.getByText("n = 12,911")).toBeVisible();
    expect(await pane.findByText("1184", { selector: "pre span" })).toBeVisible();
  });

  it("changes with the host, and the address with it", async () => {
    const user = userEvent.setup();
    const router = open(`${AT}?step=${WAITING}&host=${HOSTS[1]?.id}`);
    const pane = await evidence();
    const hosts = within(pane.getByRole("group", { name: "Hosts" }));
    await user.click(hosts.getByRole("button", { name: new RegExp(HOSTS[2]?.name ?? "") }));
    await waitFor(() => expect(router.state.location.search).toMatchObject({ host: HOSTS[2]?.id }));
    expect(await pane.findByRole("link", { name: /^Delay per switch 0\.4.ms/ })).toBeVisible();
  });

  it("tells who sees it otherwise, and what they cite", async () => {
    open(`${AT}?step=${POOL}&host=${HOSTS[1]?.id}`);
    const pane = await evidence();
    expect(pane.getByText("wei says: supports")).toBeVisible();
    expect(pane.getByText("The rule alone says: not collected.")).toBeVisible();
    const [pin] = pane.getAllByRole("link", { name: "Lines of an artifact" });
    expect(pin).toHaveAttribute("href", expect.stringMatching(/^\/artifacts\/.*lines=1184,1190/));
  });

  it("is pinned with e", async () => {
    open(`${AT}?step=${WAITING}&host=${HOSTS[1]?.id}`);
    const pane = await evidence();
    await pane.findByRole("link", { name: /^Delay per switch/ });
    fireEvent.keyDown(document.documentElement, { key: "e", code: "KeyE" });
    await waitFor(() => expect(posted("/pins")).toHaveLength(1));
    expect(posted("/pins")[0]?.body).toMatchObject({
      kind: "line",
      step: WAITING,
      version: RICH.version,
      ref: { part: "sched.txt", lines: [1184, 1190, 1204, 1377] },
      view: expect.stringMatching(/^\/artifacts\/.*line=1184/),
    });
  });

  it("refuses a person's verdict without a pin, in the server's words", async () => {
    const user = userEvent.setup();
    open(`${AT}?step=${LOCK}&act=verdict`);
    const dialog = within(await screen.findByRole("dialog"));
    await user.type(dialog.getByRole("textbox", { name: "In words" }), "I have seen it");
    await user.click(dialog.getByRole("button", { name: "Give this verdict" }));
    expect(await dialog.findByText(/A verdict rests on evidence: pin a line/)).toBeVisible();
    expect(dialog.getByRole("textbox", { name: "In words" })).toHaveValue("I have seen it");
    await user.click(dialog.getAllByRole("checkbox", { name: /^Cite/ })[0] as HTMLElement);
    await user.click(dialog.getByRole("button", { name: "Give this verdict" }));
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    expect(posted("/verdicts").at(-1)?.body).toMatchObject({ step: LOCK, verdict: "supports" });
  });

  it("says which pins are gone", async () => {
    open(`${AT}?pane=pins`);
    expect(await screen.findByText("gone")).toBeVisible();
    expect(await screen.findByText("intact")).toBeVisible();
    expect(
      screen.getByText("runtime.gcDrain · 38.2 %", { normalizer: (text) => text.replace(/\u2009/g, " ") }),
    ).toBeVisible();
  });
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
  it("is refused with the open steps, each of which can be waived there", async () => {
    const user = userEvent.setup();
    open(`${AT}?act=state&what=resolved`);
    const dialog = within(await screen.findByRole("dialog"));
    await user.click(dialog.getByRole("button", { name: "Resolve" }));
    expect(await dialog.findByText(/1 steps on the path are unanswered: 3 · Do they wait/)).toBeVisible();
    const steps = within(dialog.getByRole("list", { name: "Open steps" }));
    await user.type(steps.getByRole("textbox"), "nobody has a lock there");
    await user.click(steps.getByRole("button", { name: "Waive" }));
    expect(await dialog.findByText("They are waived or answered now. Try again.")).toBeVisible();
    expect(posted("/waivers")[0]?.body).toMatchObject({ step: LOCK, reason: "nobody has a lock there" });
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

  it("that could not be judged says why", async () => {
    open(`/incidents/${FAILED.id}?pane=fixes`);
    expect(await screen.findByText("No conclusion")).toBeVisible();
    expect(screen.getByText(/The interval is neither within 10 % of nothing/)).toBeVisible();
    expect(screen.getByText(/captures with data are needed before and after/)).toBeVisible();
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
