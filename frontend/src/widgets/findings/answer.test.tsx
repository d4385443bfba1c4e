import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it } from "vitest";
import { DIAGNOSES } from "../../../mock/analysis/diagnosisRecords";
import { CPU_ACCOUNTS } from "../../../mock/analysis/timeAccounts";
import { state } from "../../../mock/api";
import { openScreen } from "../../testing/screen";
import { formatShare, formatShareBounds } from "./TimeAccounts";
import { findHarmedService, listChain } from "./timeChain";

const NAMED = DIAGNOSES[0];
const UNNAMED = DIAGNOSES.at(-1);

afterEach(() => {
  state.role = "admin";
});

describe("time accounts", () => {
  it("lists a service below its caller, for any input order", () => {
    const chain = listChain([...CPU_ACCOUNTS].reverse());
    expect(chain.map(({ account, depth, caller }) => [account.service, depth, caller])).toEqual([
      ["feed", 0, undefined],
      ["mariadbd", 1, "feed"],
    ]);
  });

  it("breaks cycles of services, and keeps services without a caller", () => {
    const [feed, database] = CPU_ACCOUNTS as [(typeof CPU_ACCOUNTS)[number], (typeof CPU_ACCOUNTS)[number]];
    const back = { ...feed.shares[2]!, callee: { service: feed.service, subject: feed.subject } };
    const other = { ...database, service: "redis", subject: {} };
    const chain = listChain([other, feed, { ...database, shares: [back] }]);
    expect(chain.map(({ account }) => account.service)).toEqual(["feed", "mariadbd", "redis"]);
  });

  it("returns the harmed service only if exactly one is harmed", () => {
    expect(findHarmedService(CPU_ACCOUNTS)).toBe("feed");
    expect(
      findHarmedService(CPU_ACCOUNTS.map((account) => ({ ...account, is_harmed: true }))),
    ).toBeUndefined();
  });

  it("formats a share with its bounds, and an exact share without", () => {
    expect(formatShare({ pct: 62, low_pct: 55, high_pct: 70 })).toBe("62\u2009% (55–70\u2009%)");
    expect(formatShareBounds({ pct: 17, low_pct: 17, high_pct: 17 })).toBe("");
  });
});

describe("a diagnosis with a cause", () => {
  it("displays the harmed service, the explained share and the unexplained share", async () => {
    openScreen(`/diagnoses/${NAMED?.id}`);
    expect(await screen.findByText(/^Explains 62.% \(55–70.%\) of the time of feed$/)).toBeVisible();
    expect(screen.getByText(/^38.% of the time of feed is not explained$/)).toBeVisible();
    expect(screen.getByText(/^Requests to feed wait up to 2,310 ms\./)).toBeVisible();
    expect(screen.getByText("mariadbd", { selector: "h4" })).toBeVisible();
    expect(screen.getByText(/feed waits for mariadbd/)).toBeVisible();
  });

  it("splits the time of each service into shares with bounds and sources", async () => {
    openScreen(`/diagnoses/${NAMED?.id}`);
    const shares = await screen.findByRole("list", { name: "Time of feed" });
    const peer = within(shares).getByText("127.0.0.1:3306").closest("li") as HTMLElement;
    expect(within(peer).getByText(/^12–19.%$/)).toBeVisible();
    expect(within(peer).getByText("→ mariadbd")).toBeVisible();
    expect(within(peer).getAllByRole("link")[0]).toHaveAttribute("href", expect.stringMatching(/line=44/));
    const queue = within(shares).getByText("Waits for a CPU").closest("li") as HTMLElement;
    expect(within(queue).getByText("exact")).toBeVisible();
    expect(screen.getByText(/^Ran instead: batch-index \(9120\) 71.%$/)).toBeVisible();
  });
});

describe("a diagnosis without a cause", () => {
  it("displays context, consumers and the intervals of inconclusive findings", async () => {
    openScreen(`/diagnoses/${UNNAMED?.id}`);
    expect(await screen.findByText("No cause found")).toBeVisible();
    expect(screen.getByText("The load is 287.")).toBeVisible();
    expect(screen.getByText(/^31.% – 46.%$/)).toBeVisible();
    const consumer = screen.getByText("batch-index (pid 9120)").closest("li") as HTMLElement;
    expect(within(consumer).getByText(/^71\.2.%$/)).toBeVisible();
    expect(screen.getByText(/^100.% of the time of php-fpm is not explained$/)).toBeVisible();
  });

  it("starts a further collector, with its cost and the scope of the diagnosis", async () => {
    const user = userEvent.setup();
    const router = openScreen(`/diagnoses/${UNNAMED?.id}`);
    const fold = await screen.findByRole("button", { name: /^Further collectors/ });
    const section = fold.closest("section") as HTMLElement;
    expect(within(section).getByText(/^5.s, 16 % of one CPU$/)).toBeVisible();
    expect(within(section).getByText("deep")).toBeVisible();
    await user.click(within(section).getAllByRole("button", { name: /^Collect / })[1] as HTMLElement);
    await waitFor(() =>
      expect(router.state.location.search).toMatchObject({
        dialog: "capture",
        on: UNNAMED?.host.id,
        with: "perf_sched",
        scope: "cgroup=/system.slice/php8.2-fpm.service",
      }),
    );
  });

  it("offers no collector to users without permission", async () => {
    state.role = "viewer";
    openScreen(`/diagnoses/${UNNAMED?.id}`);
    await screen.findByText("No cause found");
    expect(screen.queryByRole("button", { name: /^Collect / })).toBeNull();
  });
});
