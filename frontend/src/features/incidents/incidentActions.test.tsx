import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { state } from "../../../mock/api";
import { HOSTS } from "../../../mock/dataset";
import { addNoteAsOtherUser, resetIncidents } from "../../../mock/incidents/incidents";
import {
  FAILED_FIX_INCIDENT,
  FULL_INCIDENT,
  UNDECIDED_INCIDENT,
} from "../../../mock/incidents/investigations";
import { overrideAnswer, sentRequests } from "../../../mock/server/msw";
import { respondProblem } from "../../../mock/server/routes";
import { openScreen } from "../../testing/screen";

const AT = `/incidents/${FULL_INCIDENT.id}`;
const WAITING = "requests-wait-for-cpu/waiting";
const LOCK = "requests-wait-for-cpu/lock";

const next = async () => within(await screen.findByRole("region", { name: "Next step" }));
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

describe("the next step", () => {
  it("expands with n, runs with a second n, and shows its progress with a cancel button", async () => {
    const user = userEvent.setup();
    openScreen(AT);
    const part = await next();
    expect(part.getByText("deep")).toBeVisible();
    expect(part.queryByText(/perf sched record/)).toBeNull();
    fireEvent.keyDown(document.documentElement, { key: "n", code: "KeyN" });
    expect(await part.findByText(/perf sched record -a/)).toBeVisible();
    expect(posted("/step-runs")).toHaveLength(0);
    const button = part.getByRole("button", { name: /^Run/ });
    await waitFor(() => expect(button).toHaveFocus());
    fireEvent.keyDown(button, { key: "n", code: "KeyN" });
    await waitFor(() => expect(posted("/step-runs")).toHaveLength(1));
    expect(posted("/step-runs")[0]?.body).toEqual({
      step: LOCK,
      host_id: HOSTS[1]?.id,
      version: FULL_INCIDENT.version,
    });
    await user.click(await part.findByRole("button", { name: "Cancel capture" }));
    await waitFor(() => expect(posted("/cancel")).toHaveLength(1));
  });

  it("asks for missing options, and runs with the entered values", async () => {
    const user = userEvent.setup();
    overrideAnswer(({ path, body }) =>
      path.endsWith("/step-runs") && !body.options
        ? respondProblem(422, "incident.option_missing_peer", "peer", {
            step: LOCK,
            collector: "perf_sched",
            option: "address",
          })
        : undefined,
    );
    openScreen(AT);
    const part = await next();
    await user.click(part.getByRole("button", { name: /^Run/ }));
    expect(await part.findByText(/which address and port do the slow connections go to/)).toBeVisible();
    await user.type(part.getByRole("textbox", { name: /address/ }), "10.0.0.2{Enter}");
    await waitFor(() => expect(posted("/step-runs")).toHaveLength(2));
    expect(posted("/step-runs")[1]?.body).toEqual({
      step: LOCK,
      host_id: HOSTS[1]?.id,
      options: { perf_sched: { address: "10.0.0.2" } },
      version: FULL_INCIDENT.version,
    });
    overrideAnswer(undefined);
  });

  it("cannot be run by a viewer", async () => {
    state.role = "viewer";
    openScreen(AT);
    const part = await next();
    expect(part.queryByRole("button", { name: /^Run/ })).toBeNull();
    expect(part.getByText("Your role may not run deep collectors.")).toBeVisible();
  });
});

describe("concurrent edits", () => {
  it("show the other user's change, keep the input, and apply it to the new version", async () => {
    const user = userEvent.setup();
    openScreen(`${AT}?pane=journal`);
    const note = await screen.findByRole("textbox", { name: "Note" });
    await user.type(note, "mine");
    addNoteAsOtherUser(FULL_INCIDENT.id, "Restarted feed on the third host.");
    fireEvent.click(screen.getByRole("button", { name: "Add note" }));
    const alert = within(await screen.findByRole("alert"));
    expect(alert.getByText(/lena changed this incident after you opened it \(a note\)/)).toBeVisible();
    expect(await alert.findByText("Restarted feed on the third host.")).toBeVisible();
    expect(note).toHaveValue("mine");
    await user.click(alert.getByRole("button", { name: "Apply my change to the new version" }));
    await waitFor(() => expect(note).toHaveValue(""));
    expect(posted("/notes").at(-1)?.body).toEqual({ note: "mine", version: FULL_INCIDENT.version + 1 });
  });

  it("are listed in the journal with display names", async () => {
    openScreen(`${AT}?pane=journal`);
    expect(await screen.findByText(/2 · To which pool do these threads belong\?: supports/)).toBeVisible();
    expect(screen.getByText("lena is viewing this incident")).toBeInTheDocument();
  });
});

describe("a change of the incident state", () => {
  it("is rejected with the open steps, which can be waived together with a reason", async () => {
    const user = userEvent.setup();
    openScreen(`${AT}?dialog=state&what=resolved`);
    const dialog = within(await screen.findByRole("dialog"));
    await user.click(dialog.getByRole("button", { name: "Resolve" }));
    expect(await dialog.findByText(/1 steps on the path are open: 3 · Do they wait/)).toBeVisible();
    const steps = within(dialog.getByRole("list", { name: "Open steps" }));
    await user.type(steps.getByRole("textbox"), "no lock on this host");
    expect(steps.queryByRole("button", { name: "Dismiss playbook" }), "a cause is of it").toBeNull();
    await user.click(steps.getByRole("checkbox", { name: /^Waive: Do they wait/ }));
    expect(steps.getByRole("button", { name: "Waive 0 steps" })).toBeDisabled();
    await user.click(steps.getByRole("checkbox", { name: /^Waive: Do they wait/ }));
    await user.click(steps.getByRole("button", { name: "Waive 1 step" }));
    expect(
      await dialog.findByText(
        "All of these steps now have a verdict or waiver, or their playbook is dismissed. Try again.",
      ),
    ).toBeVisible();
    expect(posted("/waivers")[0]?.body).toMatchObject({ steps: [LOCK], reason: "no lock on this host" });
  });

  it("links to the open step when it is rejected", async () => {
    const user = userEvent.setup();
    const router = openScreen(`${AT}?dialog=state&what=resolved&step=${WAITING}`);
    const dialog = within(await screen.findByRole("dialog"));
    await user.click(dialog.getByRole("button", { name: "Resolve" }));
    const steps = within(await dialog.findByRole("list", { name: "Open steps" }));
    await user.click(steps.getByRole("button", { name: /Do they wait for one lock/ }));
    await waitFor(() => expect(router.state.location.search).toMatchObject({ step: LOCK }));
    expect(screen.queryByRole("dialog")).toBeNull();
  });
});

describe("a playbook", () => {
  it("is dismissed with a reason, shows the reason, and is restored", async () => {
    const user = userEvent.setup();
    openScreen(`/incidents/${UNDECIDED_INCIDENT.id}`);
    const decided = () =>
      screen.findAllByRole("button", { name: /^State:/ }).then((all) => all[0] as HTMLElement);
    await user.click(await decided());
    await user.click(await screen.findByRole("menuitem", { name: "Dismiss playbook" }));
    const dialog = within(await screen.findByRole("dialog"));
    expect(within(dialog.getByRole("list", { name: "Open steps" })).getByText(/Do they wait/)).toBeVisible();
    await user.type(dialog.getByRole("textbox", { name: "Reason" }), "not our service");
    await user.click(dialog.getByRole("button", { name: "Dismiss playbook" }));
    expect((await screen.findAllByTitle(/Dismissed by .*: not our service/))[0]).toBeVisible();
    expect(posted(`/playbooks/${UNDECIDED_INCIDENT.playbooks[0]?.id}`)[0]?.body).toMatchObject({
      dismissed: true,
    });
    await user.click(await decided());
    await user.click(await screen.findByRole("menuitem", { name: "Restore playbook" }));
    await waitFor(() => expect(screen.queryByTitle(/Dismissed by/)).toBeNull());
  });
});

describe("a fix", () => {
  it("is filled in from a remediation of the playbook", async () => {
    const user = userEvent.setup();
    const router = openScreen(`${AT}?dialog=fix&what=requests-wait-for-cpu/crowd`);
    const dialog = within(await screen.findByRole("dialog"));
    await user.click(await dialog.findByRole("combobox", { name: "Remediation of the playbook" }));
    await user.click(await screen.findByRole("option", { name: /Limit the number of threads/ }));
    expect(dialog.getByRole("textbox", { name: "Rollback" })).toHaveValue("Restore the old value.");
    await user.click(dialog.getByRole("button", { name: "Save fix" }));
    await waitFor(() => expect(router.state.location.search).toMatchObject({ pane: "fixes" }));
    expect(posted("/fixes")[0]?.body).toMatchObject({
      remediation: "requests-wait-for-cpu/bound-the-pool",
      what: "Limit the number of threads",
    });
  });

  it("shows its verification: outcome, interval, and all captures with links to their runs", async () => {
    const user = userEvent.setup();
    openScreen(`${AT}?pane=fixes`);
    const part = within(await screen.findByRole("region", { name: "Verify fix" }));
    expect(part.getByText("The fix worked")).toBeVisible();
    expect(part.getByText(/The whole interval is an improvement.*at least 10 %/)).toBeVisible();
    expect(part.getByRole("img", { name: "Change with its interval and the minimum change" })).toBeVisible();
    await user.click(part.getByRole("button", { name: /All captures before and after/ }));
    const table = within(await part.findByRole("region", { name: "All captures before and after" }));
    expect(table.getAllByRole("row")).toHaveLength(13);
    expect(table.getAllByRole("link", { name: HOSTS[1]?.name ?? "" })[0]).toHaveAttribute(
      "href",
      expect.stringMatching(/^\/runs\//),
    );
  });

  it("shows code changes as a comparison, and lists merged names", async () => {
    const user = userEvent.setup();
    openScreen(`${AT}?pane=fixes`);
    const part = within(await screen.findByRole("region", { name: "Code changes" }));
    expect(await part.findByText(/A sums 3 before the fix, B sums 3 after it/)).toBeVisible();
    expect(part.getByRole("link", { name: "Open comparison" })).toHaveAttribute(
      "href",
      expect.stringMatching(/^\/comparisons\//),
    );
    await user.click(await part.findByRole("button", { name: /Merged names/ }));
    expect(part.getByRole("cell", { name: "parse, parse.isra.0" })).toBeVisible();
    await user.click(screen.getByRole("button", { name: /Functions by self share/ }));
    const rows = within(screen.getByRole("region", { name: "Functions by self share" }));
    expect(rows.getByRole("row", { name: /spin_lock.*41\.0.*2\.0/ })).toBeVisible();
  });

  it("shows why a verification has no conclusion", async () => {
    openScreen(`/incidents/${FAILED_FIX_INCIDENT.id}?pane=fixes`);
    expect(await screen.findByText("No conclusion")).toBeVisible();
    expect(screen.getByText(/The interval is neither within ±10 %/)).toBeVisible();
    expect(screen.getByText(/captures with data are needed before and after/)).toBeVisible();
  });
});

describe("a rejected cause", () => {
  it("needs evidence for the actual cause, and shows it with the regression bundle", async () => {
    const user = userEvent.setup();
    openScreen(AT);
    await user.click((await screen.findAllByRole("button", { name: "Reject cause" }))[0] as HTMLElement);
    const dialog = within(await screen.findByRole("dialog"));
    await user.click(dialog.getByRole("combobox", { name: "Actual cause" }));
    await user.click((await screen.findAllByRole("option"))[0] as HTMLElement);
    expect(dialog.getByText(/actual cause needs evidence/)).toBeVisible();
    expect(dialog.getByRole("button", { name: "Reject cause" })).toBeDisabled();
    await user.click(dialog.getAllByRole("checkbox")[0] as HTMLElement);
    await user.click(dialog.getByRole("button", { name: "Reject cause" }));
    expect(await screen.findByText("rejected")).toBeVisible();
    expect(screen.getByText("1 piece of evidence")).toBeVisible();
    expect(screen.getByRole("link", { name: "Download as a regression bundle" })).toHaveAttribute(
      "href",
      `/api/v1/incidents/${FULL_INCIDENT.id}/regression-bundle`,
    );
  });
});

describe("a stopped autopilot", () => {
  const stopped = (step: string) => {
    const reason = { key: "autopilot.person", params: { step } };
    const autopilot = { state: "stopped", tier: "light", by: null, capture_id: null, step: null, reason };
    overrideAnswer(({ path }) =>
      path === `/incidents/${FULL_INCIDENT.id}`
        ? { status: 200, body: { ...FULL_INCIDENT, autopilot } }
        : undefined,
    );
  };

  it("shows the reason with the question while that step is the next step", async () => {
    stopped(FULL_INCIDENT.next?.step ?? "");
    openScreen(AT);
    const part = await next();
    expect(await part.findByText("The autopilot stopped.")).toBeVisible();
    expect(part.getByText(/The next step needs a person: \d+ · /)).toBeVisible();
  });

  it("hides the reason after another step has become the next step", async () => {
    stopped(WAITING);
    openScreen(AT);
    await next();
    expect(screen.queryByText("The autopilot stopped.")).toBeNull();
  });
});

describe("pins of artifact lines", () => {
  it("are added to the last opened incident", async () => {
    const user = userEvent.setup();
    sessionStorage.setItem("culprit.incident", JSON.stringify({ incident: FULL_INCIDENT.id, step: LOCK }));
    openScreen("/artifacts/0193?line=12&lines=12,14");
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

  it("are disabled without a marked line", async () => {
    openScreen("/artifacts/0193");
    expect(await screen.findByRole("button", { name: "Pin" })).toBeDisabled();
  });
});

describe("a missing incident", () => {
  it("shows the server's error", async () => {
    overrideAnswer(({ path }) =>
      path === `/incidents/${FULL_INCIDENT.id}`
        ? { status: 404, body: { status: 404, title: "", detail: "", key: "incident.not_found", params: {} } }
        : undefined,
    );
    openScreen(AT);
    expect(await screen.findByText("Incident not found, or you have no access to it.")).toBeVisible();
  });
});
