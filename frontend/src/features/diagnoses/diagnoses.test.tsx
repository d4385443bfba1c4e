import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { state } from "../../mock/api";
import { DIAGNOSES } from "../../mock/findings";
import { answerInstead, sent } from "../../mock/msw";
import { HOSTS } from "../../mock/world";
import type { Diagnosis, Host } from "../client/types";
import { open } from "../testing/screen";

const [SICK, TWIN] = HOSTS.slice(1, 3) as [Host, Host];
const [DONE, HEALTHY, FAILED, CANCELLED] = DIAGNOSES as [Diagnosis, Diagnosis, Diagnosis, Diagnosis];

beforeEach(() => {
  state.hosts = HOSTS.slice(0, 8);
});
afterEach(() => {
  state.role = "admin";
  state.empty = false;
  state.hosts = [...HOSTS];
});

describe("asking a host what is wrong with it", () => {
  it("says what will run before anything is sent, and sends the question as it was put", async () => {
    const user = userEvent.setup();
    const router = open(`/diagnoses?dialog=diagnose&on=${SICK.id}`);
    const plan = await screen.findByRole("list", { name: "What will run" });
    expect(await within(plan).findByText(/collectors? reads? counters/)).toBeVisible();
    expect(within(plan).getByText("about 8 s")).toBeVisible();
    expect(within(plan).getByText("light")).toBeVisible();
    expect(within(plan).getByText(/Nothing that stops a process is ever run by itself/)).toBeVisible();
    expect(sent.some((one) => one.method === "POST" && one.path === "/diagnoses")).toBe(false);
    await user.type(screen.getByRole("textbox", { name: "Reason" }), "p99 is bad");
    await user.click(screen.getByRole("button", { name: "Diagnose" }));
    await waitFor(() => expect(router.state.location.pathname).toMatch(/^\/diagnoses\/0193/));
    expect(sent.find((one) => one.method === "POST" && one.path === "/diagnoses")?.body).toEqual({
      host_id: SICK.id,
      seconds: 8,
      baseline: "auto",
      twin_ids: [],
      reason: "p99 is bad",
    });
    expect(await screen.findByRole("button", { name: "Cancel the diagnosis" })).toBeVisible();
    await user.click(screen.getByRole("button", { name: "Cancel the diagnosis" }));
    expect(await screen.findByText("The diagnosis was cancelled")).toBeVisible();
  });

  it("does not send a scope that no host could be asked for", async () => {
    const user = userEvent.setup();
    open(`/diagnoses?dialog=diagnose&on=${SICK.id}`);
    await screen.findByText(/collectors? reads? counters/);
    await user.click(screen.getByRole("combobox", { name: "Look at" }));
    await user.click(await screen.findByRole("option", { name: "process" }));
    await user.type(screen.getByRole("textbox", { name: "Process id" }), "feed");
    expect(screen.getByText("It is written like 4711.")).toBeVisible();
    expect(screen.getByRole("button", { name: "Diagnose" })).toBeDisabled();
  });

  it("begins on the page of the host", async () => {
    const user = userEvent.setup();
    const router = open(`/hosts/${SICK.id}`);
    await user.click(await screen.findByRole("button", { name: "Diagnose" }));
    await waitFor(() =>
      expect(router.state.location.search).toMatchObject({ dialog: "diagnose", on: SICK.id }),
    );
  });

  it("is not for a viewer", async () => {
    state.role = "viewer";
    open(`/diagnoses/${DONE.id}`);
    await screen.findByText("Answer");
    expect(screen.queryByRole("button", { name: "Diagnose again" })).toBeNull();
  });
});

describe("an answer", () => {
  it("names the cause, the numbers that prove it, what it costs to mend and what every stage cost", async () => {
    open(`/diagnoses/${DONE.id}`);
    expect(await screen.findByRole("heading", { name: "More runnable threads than CPUs" })).toBeVisible();
    expect(screen.getByText("Likely")).toBeVisible();
    const figures = screen.getByRole("list", { name: /speak for: More runnable threads/ });
    const delay = within(figures).getByRole("link", {
      name: /^Delay per switch 44.1.ms: open .*lines 1184, 1190/,
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
    expect(await screen.findByText(/does not allow it: System calls of one process/)).toBeVisible();
  });

  it("opens what was ruled out, and keeps that in the address", async () => {
    const user = userEvent.setup();
    const router = open(`/diagnoses/${DONE.id}`);
    const fold = await screen.findByRole("button", { name: /^Ruled out/ });
    expect(fold).toHaveAttribute("aria-expanded", "false");
    await user.click(fold);
    expect(await screen.findByRole("list", { name: /speak against: A disk is saturated/ })).toBeVisible();
    expect(router.state.location.search).toMatchObject({ fold: "ruled" });
  });

  it("ranks what is unlike the twins", async () => {
    open(`/diagnoses/${DONE.id}`);
    const table = await screen.findByRole("region", { name: "Unlike its 2 twins" });
    const rows = within(table).getAllByRole("row");
    expect(rows[1]).toHaveTextContent("CPU quota in cores group /svc/feed");
    expect(rows[3]).toHaveTextContent("31.4 %");
  });

  it("that names nothing says what was ruled out and what is unknown", async () => {
    open(`/diagnoses/${HEALTHY.id}`);
    expect(await screen.findByText("No cause found")).toBeVisible();
    expect(screen.getByText("Ruled out: 2. Inconclusive: 0. Not collected: 1.")).toBeVisible();
  });

  it("that failed says why, and what to do", async () => {
    open(`/diagnoses/${FAILED.id}`);
    expect(
      await screen.findByText("Nothing came home from the host, so nothing can be said about it."),
    ).toBeVisible();
    expect(screen.getByRole("link", { name: "Check the host" })).toHaveAttribute("href", `/hosts/${SICK.id}`);
  });

  it("that was cancelled leads to what came home before", async () => {
    open(`/diagnoses/${CANCELLED.id}`);
    expect(await screen.findByText("The diagnosis was cancelled")).toBeVisible();
    expect(screen.getByRole("link", { name: "Capture" })).toBeVisible();
  });
});

describe("diagnoses", () => {
  it("are listed with their answers in one line", async () => {
    open("/diagnoses");
    const row = (await screen.findByRole("link", { name: `#${DONE.number}` })).closest("tr") as HTMLElement;
    expect(await within(row).findByText("More runnable threads than CPUs")).toBeVisible();
    expect(within(row).getByText("control group /svc/feed")).toBeVisible();
  });

  it("can be those of one host", async () => {
    open(`/diagnoses?host=${TWIN.id}`);
    expect(await screen.findByRole("link", { name: `#${HEALTHY.number}` })).toBeVisible();
    expect(screen.queryByRole("link", { name: `#${DONE.number}` })).toBeNull();
  });

  it("begin with an invitation where there are none", async () => {
    state.empty = true;
    open("/diagnoses");
    expect(await screen.findByText("Nothing was diagnosed yet")).toBeVisible();
    expect(screen.getAllByRole("button", { name: "Diagnose a host" }).length).toBeGreaterThan(0);
  });

  it("that do not exist say so", async () => {
    answerInstead(({ path }) =>
      path.startsWith("/diagnoses/")
        ? {
            status: 404,
            body: { status: 404, title: "", detail: "", key: "diagnosis.not_found", params: {} },
          }
        : undefined,
    );
    open("/diagnoses/0193");
    expect(await screen.findByText("There is no such diagnosis.")).toBeVisible();
  });
});
