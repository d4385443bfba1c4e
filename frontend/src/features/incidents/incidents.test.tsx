import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { state } from "../../../mock/api";
import { HOSTS } from "../../../mock/dataset";
import { resetIncidents } from "../../../mock/incidents/incidents";
import { FAILED_FIX_INCIDENT, FULL_INCIDENT, NEW_INCIDENT } from "../../../mock/incidents/investigations";
import { sentRequests } from "../../../mock/server/msw";
import { openScreen } from "../../testing/screen";

const AT = `/incidents/${FULL_INCIDENT.id}`;
const WAITING = "requests-wait-for-cpu/waiting";
const POOL = "requests-wait-for-cpu/pool";
const LOCK = "requests-wait-for-cpu/lock";

const chain = async () => within(await screen.findByRole("list", { name: "Evidence chain" }));
const evidence = async () => within(await screen.findByRole("region", { name: "Evidence" }));
const posted = (path: string) =>
  sentRequests.filter((request) => request.method !== "GET" && request.path.endsWith(path));

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
  it("shows state, symptom, cause and the first missing part", async () => {
    openScreen("/incidents");
    const row = (await screen.findByRole("link", { name: FULL_INCIDENT.title })).closest("tr") as HTMLElement;
    expect(row).toHaveTextContent("investigating");
    expect(row).toHaveTextContent(/latency 520.ms → 2.3.s/);
    expect(await within(row).findByText("More runnable threads than CPUs")).toBeVisible();
    expect(row).toHaveTextContent("is the symptom gone?");
    const bare = screen.getByRole("link", { name: NEW_INCIDENT.title }).closest("tr") as HTMLElement;
    expect(bare).toHaveTextContent("no cause");
    const failed = screen.getByRole("link", { name: FAILED_FIX_INCIDENT.title }).closest("tr") as HTMLElement;
    expect(failed).toHaveTextContent("fix not verified");
  });

  it("is filtered by text, which is stored in the URL", async () => {
    const user = userEvent.setup();
    const router = openScreen("/incidents");
    await user.type(await screen.findByRole("textbox", { name: "Title, host, service or cause" }), "search");
    await waitFor(() => expect(screen.queryByRole("link", { name: FULL_INCIDENT.title })).toBeNull());
    expect(router.state.location.search).toMatchObject({ q: "search" });
  });

  it("shows three entry points while it is empty", async () => {
    state.empty = true;
    openScreen("/incidents");
    expect(await screen.findByText("No incidents yet")).toBeVisible();
    expect(screen.getByRole("heading", { name: "Capture this server" })).toBeVisible();
    expect(screen.getByRole("heading", { name: "Add host" })).toBeVisible();
    expect(screen.getByRole("heading", { name: "Open recording" })).toBeVisible();
  });
});

describe("a new incident", () => {
  it("is sent with the entered numbers and units", async () => {
    const user = userEvent.setup();
    const router = openScreen("/incidents?dialog=incident");
    await user.type(await screen.findByRole("textbox", { name: "Title" }), "feed is slow");
    await user.type(screen.getByRole("textbox", { name: "latency, Before" }), "0,5");
    await user.type(screen.getByRole("textbox", { name: "latency, Now" }), "2.3");
    await user.click(screen.getByRole("button", { name: "Create incident" }));
    await waitFor(() => expect(router.state.location.pathname).toMatch(/^\/incidents\/0193/));
    expect(posted("/incidents")[0]?.body).toMatchObject({
      title: "feed is slow",
      severity: 3,
      symptom: { latency: { before: 0.5, after: 2.3, unit: "ms" }, rate: null },
    });
  });

  it("cannot be sent with text in a number field", async () => {
    const user = userEvent.setup();
    openScreen("/incidents?dialog=incident");
    await user.type(await screen.findByRole("textbox", { name: "Title" }), "feed is slow");
    await user.type(screen.getByRole("textbox", { name: "errors, Now" }), "many");
    expect(screen.getByRole("button", { name: "Create incident" })).toBeDisabled();
  });

  it("is filled in from a diagnosis with its host and causes", async () => {
    const user = userEvent.setup();
    const { DIAGNOSES } = await import("../../../mock/analysis/diagnosisRecords");
    const router = openScreen(`/diagnoses/${DIAGNOSES[0]?.id}`);
    await user.click(await screen.findByRole("button", { name: "Open incident" }));
    await waitFor(() =>
      expect(router.state.location.search).toMatchObject({ dialog: "incident", about: DIAGNOSES[0]?.id }),
    );
    await waitFor(() =>
      expect(screen.getByRole("textbox", { name: "Title" })).toHaveValue(
        `${HOSTS[1]?.name}: More runnable threads than CPUs`,
      ),
    );
    expect(await screen.findByRole("checkbox", { name: /Requests wait for a CPU/ })).toBeVisible();
    await user.click(screen.getByRole("button", { name: "Create incident" }));
    await waitFor(() => expect(posted("/incidents")).toHaveLength(1));
    expect(posted("/incidents")[0]?.body).toMatchObject({
      diagnosis_id: DIAGNOSES[0]?.id,
      hosts: [{ host_id: HOSTS[1]?.id, scope: { kind: "cgroup", value: "/svc/feed" } }],
    });
  });
});

describe("the evidence chain", () => {
  it("shows verdicts, the open step, and the causes and fixes below", async () => {
    openScreen(AT);
    const list = await chain();
    const gap = list.getByRole("button", { name: /Do they wait for one lock/ });
    expect(gap).toHaveTextContent("Open step");
    expect(gap).toHaveTextContent("Next step");
    const split = list.getByRole("button", { name: /How long do runnable threads wait/ });
    expect(split).toHaveTextContent("disagree");
    expect(list.getByText("supported by step 1")).toBeVisible();
    expect(await list.findByText("Cause: More runnable threads than CPUs")).toBeVisible();
    expect(list.getByText("A fix was verified. Is the symptom gone?")).toBeVisible();
  });

  it("shows only the first missing part: without a cause, no missing fix", async () => {
    openScreen(`/incidents/${NEW_INCIDENT.id}`);
    const list = await chain();
    expect(list.getByText("No cause named yet")).toBeVisible();
    expect(list.queryByText("No fix yet")).toBeNull();
    expect(list.getByText("No playbook. Add one to get steps.")).toBeVisible();
  });

  it("is navigated with j and k, and the URL stores the selected step", async () => {
    const router = openScreen(`${AT}?step=${WAITING}`);
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

  it("shows the server's reason why a hypothesis cannot be confirmed", async () => {
    const user = userEvent.setup();
    openScreen(`/incidents/${FAILED_FIX_INCIDENT.id}`);
    const list = await chain();
    await user.click(await list.findByRole("button", { name: "State: likely. Change" }));
    await user.click(await screen.findByRole("menuitem", { name: "Confirm" }));
    expect(await screen.findByText(/A confirmed cause needs a comparison of before and after/)).toBeVisible();
  });
});

describe("the evidence of a step", () => {
  it("is selected by step and host in the URL", async () => {
    openScreen(`${AT}?step=${WAITING}&host=${HOSTS[1]?.id}`);
    const pane = await evidence();
    expect(await pane.findByRole("link", { name: /^44\.1.ms Delay per switch: open .*line/ })).toBeVisible();
    expect(pane.getByText("n = 12,911")).toBeVisible();
    expect(await pane.findByText("1184", { selector: "pre span" })).toBeVisible();
  });

  it("changes with the selected host, and so does the URL", async () => {
    const user = userEvent.setup();
    const router = openScreen(`${AT}?step=${WAITING}&host=${HOSTS[1]?.id}`);
    const pane = await evidence();
    const hosts = within(pane.getByRole("group", { name: "Hosts" }));
    await user.click(hosts.getByRole("button", { name: new RegExp(HOSTS[2]?.name ?? "") }));
    await waitFor(() => expect(router.state.location.search).toMatchObject({ host: HOSTS[2]?.id }));
    expect(await pane.findByRole("link", { name: /^400.µs Delay per switch: open/ })).toBeVisible();
  });

  it("shows users who disagree with the rule, and their cited pins", async () => {
    openScreen(`${AT}?step=${POOL}&host=${HOSTS[1]?.id}`);
    const pane = await evidence();
    expect(pane.getByText("wei: supports")).toBeVisible();
    expect(pane.getByText("Verdict of the rule: not collected.")).toBeVisible();
    const [pin] = pane.getAllByRole("link", { name: "Lines of an artifact" });
    expect(pin).toHaveAttribute("href", expect.stringMatching(/^\/artifacts\/.*lines=1184,1190/));
  });

  it("is pinned with the key e", async () => {
    openScreen(`${AT}?step=${WAITING}&host=${HOSTS[1]?.id}`);
    const pane = await evidence();
    await pane.findAllByRole("link", { name: /Delay per switch:/ });
    fireEvent.keyDown(document.documentElement, { key: "e", code: "KeyE" });
    await waitFor(() => expect(posted("/pins")).toHaveLength(1));
    expect(posted("/pins")[0]?.body).toMatchObject({
      kind: "line",
      step: WAITING,
      version: FULL_INCIDENT.version,
      ref: { part: "sched.txt", lines: [1184, 1190, 1204, 1377] },
      view: expect.stringMatching(/^\/artifacts\/.*line=1184/),
    });
  });

  it("shows the server's error for a user's verdict without a pin, and keeps the input", async () => {
    const user = userEvent.setup();
    openScreen(`${AT}?step=${LOCK}&dialog=verdict`);
    const dialog = within(await screen.findByRole("dialog"));
    await user.type(dialog.getByRole("textbox", { name: "Explanation" }), "I have seen it");
    await user.click(dialog.getByRole("button", { name: "Set verdict" }));
    expect(await dialog.findByText(/A verdict needs evidence\. Pin a line/)).toBeVisible();
    expect(dialog.getByRole("textbox", { name: "Explanation" })).toHaveValue("I have seen it");
    await user.click(dialog.getAllByRole("checkbox", { name: /^Cite/ })[0] as HTMLElement);
    await user.click(dialog.getByRole("button", { name: "Set verdict" }));
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    expect(posted("/verdicts").at(-1)?.body).toMatchObject({ step: LOCK, verdict: "supports" });
  });

  it("shows which pins have a deleted source", async () => {
    openScreen(`${AT}?pane=pins`);
    expect(await screen.findByText("deleted")).toBeVisible();
    expect(await screen.findByText("intact")).toBeVisible();
    expect(
      screen.getByText("runtime.gcDrain · 38.2 %", { normalizer: (text) => text.replace(/\u2009/g, " ") }),
    ).toBeVisible();
  });
});
