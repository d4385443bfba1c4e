import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { DIAGNOSES } from "../../../mock/analysis/diagnosisRecords";
import { state } from "../../../mock/api";
import { HOSTS } from "../../../mock/dataset";
import { overrideAnswer, sentRequests } from "../../../mock/server/msw";
import type { Diagnosis, Host } from "../../client/models";
import { openScreen } from "../../testing/screen";

const [UNHEALTHY, PEER] = HOSTS.slice(1, 3) as [Host, Host];
const [DONE, HEALTHY, FAILED, CANCELED] = DIAGNOSES as [Diagnosis, Diagnosis, Diagnosis, Diagnosis];

beforeEach(() => {
  state.hosts = HOSTS.slice(0, 8);
});
afterEach(() => {
  state.role = "admin";
  state.empty = false;
  state.hosts = [...HOSTS];
});

describe("the form of a diagnosis", () => {
  it("previews the stages before it sends a request, and sends the entered values", async () => {
    const user = userEvent.setup();
    const router = openScreen(`/diagnoses?dialog=diagnose&on=${UNHEALTHY.id}`);
    const plan = await screen.findByRole("list", { name: "Preview" });
    expect(await within(plan).findByText(/collectors? reads? counters/)).toBeVisible();
    expect(within(plan).getByText("about 8 s")).toBeVisible();
    expect(within(plan).getByText("light")).toBeVisible();
    expect(within(plan).getByText(/Collectors that stop a process never/)).toBeVisible();
    expect(sentRequests.some((request) => request.method === "POST" && request.path === "/diagnoses")).toBe(
      false,
    );
    await user.type(screen.getByRole("textbox", { name: "Reason" }), "p99 is bad");
    await user.click(screen.getByRole("button", { name: "Diagnose" }));
    await waitFor(() => expect(router.state.location.pathname).toMatch(/^\/diagnoses\/0193/));
    expect(
      sentRequests.find((request) => request.method === "POST" && request.path === "/diagnoses")?.body,
    ).toEqual({
      host_id: UNHEALTHY.id,
      seconds: 8,
      baseline: "auto",
      peer_ids: [],
      reason: "p99 is bad",
    });
    expect(await screen.findByRole("button", { name: "Cancel diagnosis" })).toBeVisible();
    await user.click(screen.getByRole("button", { name: "Cancel diagnosis" }));
    expect(await screen.findByText("Diagnosis canceled")).toBeVisible();
  });

  it("does not send an invalid scope", async () => {
    const user = userEvent.setup();
    openScreen(`/diagnoses?dialog=diagnose&on=${UNHEALTHY.id}`);
    await screen.findByText(/collectors? reads? counters/);
    await user.click(screen.getByRole("combobox", { name: "Scope" }));
    await user.click(await screen.findByRole("option", { name: "process" }));
    await user.type(screen.getByRole("textbox", { name: "Process ID" }), "feed");
    expect(screen.getByText("Expected format: 4711")).toBeVisible();
    expect(screen.getByRole("button", { name: "Diagnose" })).toBeDisabled();
  });

  it("opens from the page of the host", async () => {
    const user = userEvent.setup();
    const router = openScreen(`/hosts/${UNHEALTHY.id}`);
    await user.click(await screen.findByRole("button", { name: "Diagnose" }));
    await waitFor(() =>
      expect(router.state.location.search).toMatchObject({ dialog: "diagnose", on: UNHEALTHY.id }),
    );
  });

  it("is not offered to a viewer", async () => {
    state.role = "viewer";
    openScreen(`/diagnoses/${DONE.id}`);
    await screen.findByText("Result");
    expect(screen.queryByRole("button", { name: "Diagnose again" })).toBeNull();
  });
});

describe("the result of a diagnosis", () => {
  it("shows the cause, its numbers with their sources, the fix, and the cost of each stage", async () => {
    openScreen(`/diagnoses/${DONE.id}`);
    expect(await screen.findByRole("heading", { name: "More runnable threads than CPUs" })).toBeVisible();
    expect(screen.getByText("Likely", { ignore: ".visually-hidden" })).toBeVisible();
    const figures = screen.getByRole("list", { name: /^Numbers for: More runnable threads/ });
    const delay = within(figures).getByRole("link", {
      name: /^44.1.ms Delay per switch: open .*lines 1184, 1190/,
    });
    expect(delay).toHaveAttribute(
      "href",
      expect.stringMatching(/^\/artifacts\/.*line=1184.*lines=1184,1190/),
    );
    expect(within(figures).getByText("before 1.1 ms")).toBeVisible();
    const frames = within(figures).getAllByRole("link", { name: /open the flame graph/ })[0];
    expect(frames).toHaveAttribute("href", expect.stringMatching(/^\/profiles\/.*q=/));
    expect(screen.getByText(/GOMAXPROCS=4/)).toBeVisible();
    expect(screen.getByText("911 ms")).toBeVisible();
    expect(await screen.findByText(/does not allow it: System calls of/)).toBeVisible();
  });

  it("shows the causes that were named after each stage", async () => {
    openScreen(`/diagnoses/${DONE.id}`);
    const [first, second] = await screen.findAllByText(/^After \d/);
    expect(first?.parentElement).toHaveTextContent("After 11.2 s:");
    await waitFor(() => expect(second?.parentElement).toHaveTextContent("More runnable threads than CPUs"));
  });

  it("expands excluded causes, and stores that in the URL", async () => {
    const user = userEvent.setup();
    const router = openScreen(`/diagnoses/${DONE.id}`);
    const fold = await screen.findByRole("button", { name: /^Ruled out/ });
    expect(fold).toHaveAttribute("aria-expanded", "false");
    await user.click(fold);
    expect(await screen.findByRole("list", { name: /^Numbers against: A disk is saturated/ })).toBeVisible();
    expect(router.state.location.search).toMatchObject({ fold: "ruled" });
  });

  it("ranks the differences from the peers", async () => {
    openScreen(`/diagnoses/${DONE.id}`);
    const table = await screen.findByRole("region", { name: "Differences from its 2 peers" });
    const rows = within(table).getAllByRole("row");
    expect(rows[1]).toHaveTextContent("CPU quota in cores group /svc/feed");
    expect(rows[3]).toHaveTextContent("31.4 %");
  });

  it("without a cause shows the counts of excluded and unknown causes", async () => {
    openScreen(`/diagnoses/${HEALTHY.id}`);
    expect(await screen.findByText("No cause found")).toBeVisible();
    expect(screen.getByText("Ruled out: 2. Inconclusive: 0. Not collected: 1.")).toBeVisible();
  });

  it("is the reason and the next action if the diagnosis failed", async () => {
    openScreen(`/diagnoses/${FAILED.id}`);
    expect(await screen.findByText(/The host returned no data, so no cause can be named\./)).toBeVisible();
    expect(screen.getByRole("link", { name: "Check host" })).toHaveAttribute(
      "href",
      `/hosts/${UNHEALTHY.id}`,
    );
  });

  it("links to the collected data if the diagnosis was canceled", async () => {
    openScreen(`/diagnoses/${CANCELED.id}`);
    expect(await screen.findByText("Diagnosis canceled")).toBeVisible();
    expect(screen.getByRole("link", { name: "Capture" })).toBeVisible();
  });
});

describe("diagnoses", () => {
  it("are listed with their results", async () => {
    openScreen("/diagnoses");
    const row = (await screen.findByRole("link", { name: `#${DONE.number}` })).closest("tr") as HTMLElement;
    expect(await within(row).findByText("More runnable threads than CPUs")).toBeVisible();
    expect(within(row).getByText("control group /svc/feed")).toBeVisible();
  });

  it("are filtered by host", async () => {
    openScreen(`/diagnoses?host=${PEER.id}`);
    expect(await screen.findByRole("link", { name: `#${HEALTHY.number}` })).toBeVisible();
    expect(screen.queryByRole("link", { name: `#${DONE.number}` })).toBeNull();
  });

  it("have an empty state", async () => {
    state.empty = true;
    openScreen("/diagnoses");
    expect(await screen.findByText("No diagnoses yet")).toBeVisible();
    expect(screen.getAllByRole("button", { name: "Diagnose host" }).length).toBeGreaterThan(0);
  });

  it("that do not exist show an error", async () => {
    overrideAnswer(({ path }) =>
      path.startsWith("/diagnoses/")
        ? {
            status: 404,
            body: { status: 404, title: "", detail: "", key: "diagnosis.not_found", params: {} },
          }
        : undefined,
    );
    openScreen("/diagnoses/0193");
    expect(await screen.findByText("Diagnosis not found, or you have no access to it.")).toBeVisible();
  });
});
