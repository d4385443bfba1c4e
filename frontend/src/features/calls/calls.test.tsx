import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it } from "vitest";
import { state } from "../../../mock/api";
import { CAPTURES, HOSTS } from "../../../mock/dataset";
import { STORE_HOST, STORE_PID, STORE_RUN, WEB_PID } from "../../../mock/hosts/calls";
import { overrideAnswer, sentRequests } from "../../../mock/server/msw";
import { openScreen } from "../../testing/screen";

const RUN = CAPTURES[0]?.runs[0]?.id ?? "";
const T = "1795000000000000~1795000010000000";

afterEach(() => {
  state.role = "admin";
});

describe("call graph", () => {
  it("shows callers and callees, with numbers that link to their source lines", async () => {
    openScreen(`/runs/${RUN}/calls?pid=${WEB_PID}`);
    const called = await screen.findByRole("region", { name: "Called services" });
    expect(within(called).getByText("redis-server (812)")).toBeVisible();
    expect(within(called).getByText(`on ${STORE_HOST.name}`)).toBeVisible();
    expect(within(called).getByText("same host")).toBeVisible();
    expect(within(called).getByText("61.0 %")).toBeVisible();
    expect(within(called).getAllByRole("link", { name: /open .* line 12$/ })[0]).toHaveAttribute(
      "href",
      expect.stringContaining("line=12"),
    );
    expect(within(screen.getByRole("region", { name: "Callers" })).getByText("10.40.0.4")).toBeVisible();
  });

  it("opens the other end in the same time range, and goes back along the path", async () => {
    const user = userEvent.setup();
    const router = openScreen(`/runs/${RUN}/calls?pid=${WEB_PID}&t=${T}`);
    await user.click(await screen.findByRole("link", { name: /^Open other end: redis-server/ }));
    await waitFor(() => expect(router.state.location.pathname).toBe(`/runs/${STORE_RUN}/calls`));
    expect(router.state.location.search).toMatchObject({
      pid: String(STORE_PID),
      t: T,
      via: `${RUN}.${WEB_PID}`,
    });
    expect(await screen.findByText("No calls were observed.")).toBeVisible();
    const path = screen.getByRole("navigation", { name: "Path" });
    await user.click(await within(path).findByRole("link", { name: /^feed-web/ }));
    await waitFor(() => expect(router.state.location.pathname).toBe(`/runs/${RUN}/calls`));
    expect(router.state.location.search).toMatchObject({ pid: String(WEB_PID), t: T });
  });

  it("names hosts that are not added and ambiguous addresses", async () => {
    openScreen(`/runs/${RUN}/calls`);
    const called = await screen.findByRole("region", { name: "Called services" });
    expect(within(called).getByText("not added")).toBeVisible();
    expect(within(called).getByText(`ambiguous: ${HOSTS[4]?.name}, ${HOSTS[5]?.name}`)).toBeVisible();
    expect(within(called).getByRole("link", { name: "Add this host: 203.0.113.9" })).toHaveAttribute(
      "href",
      "/hosts/new?address=203.0.113.9",
    );
  });

  it("hides the link to add a host without permission", async () => {
    state.role = "viewer";
    openScreen(`/runs/${RUN}/calls`);
    expect(await screen.findByText("not added")).toBeVisible();
    expect(screen.queryByRole("link", { name: /^Add this host/ })).toBeNull();
  });

  it("shows all calls as a table", async () => {
    const user = userEvent.setup();
    const router = openScreen(`/runs/${RUN}/calls`);
    await user.click(await screen.findByRole("radio", { name: "Table" }));
    await waitFor(() => expect(router.state.location.search).toMatchObject({ as: "table" }));
    const table = await screen.findByRole("region", { name: "All calls" });
    expect(within(table).getAllByRole("row")).toHaveLength(6);
    expect(
      within(table).getByText("7.4 waiting at the caller; 7.1 inside the callee, 0.3 in between"),
    ).toBeVisible();
    expect(
      within(table).getByText(/^Median from access logs: 240.ms at the caller, 151.ms at the callee$/),
    ).toBeVisible();
    expect(within(table).getByText("No added host has the address 203.0.113.9.")).toBeVisible();
  });

  it("splits the response time", async () => {
    openScreen(`/runs/${RUN}/calls?pid=${WEB_PID}`);
    expect(await screen.findByText("Own time")).toBeVisible();
    expect(screen.getByText(/^From 110 observed requests/)).toBeVisible();
  });

  it("explains that too few requests were observed", async () => {
    openScreen(`/runs/${STORE_RUN}/calls?pid=${STORE_PID}`);
    expect(await screen.findByText("Not measured.")).toBeVisible();
    expect(screen.getByText(/^Not enough data: 4 requests observed in 9 samples/)).toBeVisible();
  });

  it("requests the calls of a selected process", async () => {
    const user = userEvent.setup();
    const router = openScreen(`/runs/${RUN}/calls?t=${T}`);
    await user.click(await screen.findByRole("combobox", { name: "Process" }));
    await user.click(await screen.findByRole("option", { name: `feed-web (${WEB_PID})` }));
    await waitFor(() => expect(router.state.location.search).toMatchObject({ pid: String(WEB_PID), t: T }));
    await waitFor(() =>
      expect(
        sentRequests.some(
          (request) => request.path === `/runs/${RUN}/calls` && request.query.get("pid") === String(WEB_PID),
        ),
      ).toBe(true),
    );
    expect(sentRequests.find((request) => request.query.has("from_ns"))?.query.get("from_ns")).toBe(
      "1795000000000000000",
    );
  });

  it("shows an empty state without observed connections", async () => {
    overrideAnswer(({ path }) =>
      path === `/runs/${RUN}/calls`
        ? {
            status: 200,
            body: {
              run_id: RUN,
              host: null,
              pid: null,
              pids: [],
              comm: "",
              scope: {},
              t0_ns: null,
              t1_ns: null,
              outgoing: [],
              incoming: [],
              omitted: 0,
              response_time: null,
              response_time_reason: { key: "calls.no_clients", params: {} },
              missing: [
                {
                  collector: "calls",
                  reason: { key: "missing.not_collected", params: { collector: "calls" } },
                },
              ],
            },
          }
        : undefined,
    );
    openScreen(`/runs/${RUN}/calls`);
    expect(await screen.findByText("No connections were observed")).toBeVisible();
    expect(screen.getByText(/was not collected|Not collected/i)).toBeVisible();
  });
});

describe("adding the host at the other end", () => {
  it("fills in its address", async () => {
    openScreen("/hosts/new?address=203.0.113.9");
    expect(await screen.findByDisplayValue("203.0.113.9")).toBeVisible();
  });
});

describe("host context", () => {
  const UNHEALTHY = HOSTS[1];

  it("shows machine, kernel, limits, neighbors, changes and the peer", async () => {
    const user = userEvent.setup();
    openScreen(`/hosts/${UNHEALTHY?.id}`);
    expect(
      await screen.findByText("4 atypical values · 3 changes in 72 hours · 1 healthy peer"),
    ).toBeVisible();
    await user.click(screen.getByRole("button", { name: /^Host context/ }));
    const machine = await screen.findByRole("region", { name: "Machine" });
    expect(within(machine).getByRole("link", { name: /CPU: open/ })).toHaveTextContent("AMD EPYC 9654");
    expect(within(machine).getByText("Only 14 of 16 CPUs are online.")).toBeVisible();
    expect(within(machine).getByText("25 Gbit/s")).toBeVisible();
    const limits = screen.getByRole("region", { name: "Limits and settings" });
    expect(within(limits).getByText("4 CPUs")).toBeVisible();
    expect(within(limits).getByText("Changed from the kernel default, which is 60.")).toBeVisible();
    expect(within(limits).queryByText("net.core.somaxconn")).toBeNull();
    await user.click(within(limits).getByRole("button", { name: "1 more" }));
    expect(within(limits).getByText("net.core.somaxconn")).toBeVisible();
    const peers = screen.getByRole("region", { name: "Peer comparison" });
    expect(within(peers).getByText(/healthy at that time/)).toBeVisible();
    expect(within(peers).getByText("sysctl.vm.swappiness")).toBeVisible();
  });

  it("names data that was not collected", async () => {
    openScreen(`/hosts/${HOSTS[3]?.id}?fold=context`);
    const machine = await screen.findByRole("region", { name: "Machine" });
    expect(within(machine).getByText(/This host has no captures yet/)).toBeVisible();
    expect(screen.getByText(/No other host has the same labels/)).toBeVisible();
  });
});
