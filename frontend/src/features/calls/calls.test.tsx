import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it } from "vitest";
import { state } from "../../mock/api";
import { STORE_HOST, STORE_PID, STORE_RUN, WEB_PID } from "../../mock/context";
import { answerInstead, sent } from "../../mock/msw";
import { CAPTURES, HOSTS } from "../../mock/world";
import { open } from "../testing/screen";

const RUN = CAPTURES[0]?.runs[0]?.id ?? "";
const T = "1795000000000000~1795000010000000";

afterEach(() => {
  state.role = "admin";
});

describe("follow the call", () => {
  it("draws who calls and whom it calls, with numbers that lead to their lines", async () => {
    open(`/runs/${RUN}/calls?pid=${WEB_PID}`);
    const called = await screen.findByRole("region", { name: "Whom it calls" });
    expect(within(called).getByText("redis-server (812)")).toBeVisible();
    expect(within(called).getByText(`on ${STORE_HOST.name}`)).toBeVisible();
    expect(within(called).getByText("same host")).toBeVisible();
    expect(within(called).getByText("61.0 %")).toBeVisible();
    expect(within(called).getAllByRole("link", { name: /open .* line 12$/ })[0]).toHaveAttribute(
      "href",
      expect.stringContaining("line=12"),
    );
    expect(within(screen.getByRole("region", { name: "Who calls" })).getByText("10.40.0.4")).toBeVisible();
  });

  it("goes on to the other end on the same range of time, and back along the way", async () => {
    const user = userEvent.setup();
    const router = open(`/runs/${RUN}/calls?pid=${WEB_PID}&t=${T}`);
    await user.click(await screen.findByRole("link", { name: /^Continue there: redis-server/ }));
    await waitFor(() => expect(router.state.location.pathname).toBe(`/runs/${STORE_RUN}/calls`));
    expect(router.state.location.search).toMatchObject({
      pid: String(STORE_PID),
      t: T,
      via: `${RUN}.${WEB_PID}`,
    });
    expect(await screen.findByText("Nobody was met.")).toBeVisible();
    const way = screen.getByRole("navigation", { name: "The way here" });
    await user.click(await within(way).findByRole("link", { name: /^feed-web/ }));
    await waitFor(() => expect(router.state.location.pathname).toBe(`/runs/${RUN}/calls`));
    expect(router.state.location.search).toMatchObject({ pid: String(WEB_PID), t: T });
  });

  it("says what is not enrolled and what cannot be told apart", async () => {
    open(`/runs/${RUN}/calls`);
    const called = await screen.findByRole("region", { name: "Whom it calls" });
    expect(within(called).getByText("not enrolled")).toBeVisible();
    expect(within(called).getByText(`ambiguous: ${HOSTS[4]?.name}, ${HOSTS[5]?.name}`)).toBeVisible();
    expect(within(called).getByRole("link", { name: "Add this host: 203.0.113.9" })).toHaveAttribute(
      "href",
      "/hosts/new?address=203.0.113.9",
    );
  });

  it("offers nobody to add a host who may not", async () => {
    state.role = "viewer";
    open(`/runs/${RUN}/calls`);
    expect(await screen.findByText("not enrolled")).toBeVisible();
    expect(screen.queryByRole("link", { name: /^Add this host/ })).toBeNull();
  });

  it("tells everything as a table too", async () => {
    const user = userEvent.setup();
    const router = open(`/runs/${RUN}/calls`);
    await user.click(await screen.findByRole("radio", { name: "Table" }));
    await waitFor(() => expect(router.state.location.search).toMatchObject({ as: "table" }));
    const table = await screen.findByRole("region", { name: "All calls" });
    expect(within(table).getAllByRole("row")).toHaveLength(6);
    expect(within(table).getByText("7.4 waited for; 7.1 inside there, 0.3 in between")).toBeVisible();
    expect(within(table).getByText(/^By the logs, median: 240.ms here, 151.ms there$/)).toBeVisible();
    expect(within(table).getByText("203.0.113.9 is not an address of any enrolled host.")).toBeVisible();
  });

  it("splits the response time, or says why it cannot", async () => {
    open(`/runs/${RUN}/calls?pid=${WEB_PID}`);
    expect(await screen.findByText("Its own time")).toBeVisible();
    expect(screen.getByText(/^From 110 requests that were met inside/)).toBeVisible();
  });

  it("has no split where too few requests were met", async () => {
    open(`/runs/${STORE_RUN}/calls?pid=${STORE_PID}`);
    expect(await screen.findByText("Not measured.")).toBeVisible();
    expect(screen.getByText(/^Only 4 requests were met inside in 9 looks/)).toBeVisible();
  });

  it("asks for one process of the run where one is chosen", async () => {
    const user = userEvent.setup();
    const router = open(`/runs/${RUN}/calls?t=${T}`);
    await user.click(await screen.findByRole("combobox", { name: "Process" }));
    await user.click(await screen.findByRole("option", { name: `feed-web (${WEB_PID})` }));
    await waitFor(() => expect(router.state.location.search).toMatchObject({ pid: String(WEB_PID), t: T }));
    await waitFor(() =>
      expect(
        sent.some((one) => one.path === `/runs/${RUN}/calls` && one.query.get("pid") === String(WEB_PID)),
      ).toBe(true),
    );
    expect(sent.find((one) => one.query.has("from_ns"))?.query.get("from_ns")).toBe("1795000000000000000");
  });

  it("says so where nobody was met", async () => {
    answerInstead(({ path }) =>
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
              out: [],
              into: [],
              left_out: 0,
              split: null,
              split_why: { key: "calls.nobody_asks", params: {} },
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
    open(`/runs/${RUN}/calls`);
    expect(await screen.findByText("No connection of anybody was met")).toBeVisible();
    expect(screen.getByText(/was not collected|Not collected/i)).toBeVisible();
  });
});

describe("adding the host at the other end", () => {
  it("begins with its address", async () => {
    open("/hosts/new?address=203.0.113.9");
    expect(await screen.findByDisplayValue("203.0.113.9")).toBeVisible();
  });
});

describe("where am I", () => {
  const SICK = HOSTS[1];

  it("fills itself: machine, kernel, limits, neighbours, changes and the twin", async () => {
    const user = userEvent.setup();
    open(`/hosts/${SICK?.id}`);
    expect(
      await screen.findByText("4 things unusual · 3 changes in 72 hours · 1 healthy twin"),
    ).toBeVisible();
    await user.click(screen.getByRole("button", { name: /^Where am I/ }));
    const machine = await screen.findByRole("region", { name: "Machine" });
    expect(within(machine).getByRole("link", { name: /^CPU.*open/ })).toHaveTextContent("AMD EPYC 9654");
    expect(within(machine).getByText("Only 14 of 16 CPUs are online.")).toBeVisible();
    expect(within(machine).getByText("25 Gbit/s")).toBeVisible();
    const limits = screen.getByRole("region", { name: "Limits and settings" });
    expect(within(limits).getByText("4 CPUs")).toBeVisible();
    expect(within(limits).getByText("Somebody set it: the kernel's own value is 60.")).toBeVisible();
    expect(within(limits).queryByText("net.core.somaxconn")).toBeNull();
    await user.click(within(limits).getByRole("button", { name: "1 more" }));
    expect(within(limits).getByText("net.core.somaxconn")).toBeVisible();
    const twins = screen.getByRole("region", { name: "Is an identical instance healthy?" });
    expect(within(twins).getByText(/healthy at that time/)).toBeVisible();
    expect(within(twins).getByText("sysctl.vm.swappiness")).toBeVisible();
  });

  it("says what was never collected", async () => {
    open(`/hosts/${HOSTS[3]?.id}?fold=where`);
    const machine = await screen.findByRole("region", { name: "Machine" });
    expect(within(machine).getByText(/Nothing has been captured on this host yet/)).toBeVisible();
    expect(screen.getByText(/No other enrolled host has the same labels/)).toBeVisible();
  });
});
