import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it } from "vitest";
import { THRESHOLDS } from "../../../mock/analysis/knowledge";
import { state } from "../../../mock/api";
import { CAPTURES, HOSTS } from "../../../mock/dataset";
import { overrideAnswer, sentRequests } from "../../../mock/server/msw";
import { openScreen } from "../../testing/screen";

const [, UNHEALTHY, WELL, UNASKED] = HOSTS as [unknown, ...(typeof HOSTS)[number][]];
const RUN = CAPTURES.find((capture) => capture.state === "done")?.runs[0]?.id ?? "";

afterEach(() => {
  state.role = "admin";
  state.thresholds = [...THRESHOLDS];
});

describe("findings of a host", () => {
  it("lists causes, then matches by severity, each number with its source", async () => {
    openScreen(`/hosts/${UNHEALTHY?.id}?fold=matched`);
    expect(await screen.findByRole("heading", { name: "A listen queue overflows" })).toBeVisible();
    expect(screen.getByText("Possible")).toBeVisible();
    expect(
      await screen.findByText("1,586 connections a second were dropped because their accept queue was full."),
    ).toBeVisible();
    const first = screen.getAllByText(/^critical$|^warning$/).map((item) => item.textContent);
    expect(first).toEqual(["critical", "critical", "warning"]);
    expect(
      screen.getAllByRole("link", { name: /Listen queue overflows.*open .* lines 10, 59/ })[0],
    ).toHaveAttribute("href", expect.stringContaining("line=10"));
  });

  it("lists related numbers with their source and without a threshold", async () => {
    openScreen(`/hosts/${UNHEALTHY?.id}?fold=matched`);
    const named = await screen.findAllByText("Places in the fullest queue");
    const row = named[0]?.closest("li") as HTMLElement;
    expect(within(row).getByText("128")).toBeVisible();
    expect(within(row).queryByTitle("Threshold")).toBeNull();
    expect(
      within(row).getAllByRole("link", { name: /Places in the fullest queue.*line 76/ })[0],
    ).toHaveAttribute("href", expect.stringContaining("line=76"));
  });

  it("lists inconclusive findings with a reason, and context in its own section", async () => {
    const user = userEvent.setup();
    openScreen(`/hosts/${UNHEALTHY?.id}?fold=inconclusive`);
    expect(
      await screen.findByText("Only 31 samples. At least 200 are needed for meaningful shares."),
    ).toBeVisible();
    expect(screen.queryByText("The load is 287.")).toBeNull();
    await user.click(screen.getByRole("button", { name: /^Context/ }));
    expect(await screen.findByText("The load is 287.")).toBeVisible();
  });

  it("opens a capture of the missing data", async () => {
    const user = userEvent.setup();
    const router = openScreen(`/hosts/${WELL?.id}?fold=missing`);
    expect(await screen.findByText("No cause found")).toBeVisible();
    await user.click(await screen.findByRole("button", { name: "Collect NUMA allocation" }));
    await waitFor(() =>
      expect(router.state.location.search).toMatchObject({
        dialog: "capture",
        on: WELL?.id,
        with: "numastat",
      }),
    );
    expect(await screen.findByRole("checkbox", { name: "NUMA allocation" })).toBeChecked();
  });

  it("offers a diagnosis for a host without evaluated runs", async () => {
    openScreen(`/hosts/${UNASKED?.id}`);
    expect(await screen.findByText(/No run of this host has been evaluated/)).toBeVisible();
    expect(screen.getAllByRole("button", { name: "Diagnose" }).length).toBe(2);
  });

  it("renders numbers without links for users who cannot read artifacts", async () => {
    state.role = "viewer";
    openScreen(`/hosts/${UNHEALTHY?.id}`);
    expect((await screen.findAllByText("1,586/s"))[0]?.closest("a")).toBeNull();
  });
});

describe("findings of a run", () => {
  it("displays causes and the number of evaluated rules on the run page", async () => {
    openScreen(`/runs/${RUN}`);
    expect(await screen.findByRole("heading", { name: "More runnable threads than CPUs" })).toBeVisible();
    expect(screen.getByText("8 rules evaluated")).toBeVisible();
  });

  it("displays that a run is not evaluated", async () => {
    overrideAnswer(({ path }) =>
      path === `/runs/${RUN}/findings`
        ? {
            status: 200,
            body: {
              run_id: RUN,
              evaluated_at: null,
              elapsed_ms: null,
              findings: [],
              not_matched: [],
              not_evaluated: [],
              ranking: {
                causes: [],
                ruled_out: [],
                not_checked: [],
                open: [],
                not_collected: [],
                inconclusive: [],
                refuted: [],
                context: [],
              },
            },
          }
        : undefined,
    );
    openScreen(`/runs/${RUN}`);
    expect(await screen.findByText("Run not evaluated")).toBeVisible();
  });
});

describe("cited lines", () => {
  it("marks the cited line in its artifact and links the other lines of the citation", async () => {
    openScreen("/artifacts/0193?line=59&lines=10,59");
    await waitFor(() => expect(document.querySelectorAll("[data-cited]").length).toBe(1));
    expect(document.getElementById("L59")).toHaveAttribute("data-cited");
    await userEvent.setup().click(screen.getByRole("button", { name: "10" }));
    await waitFor(() => expect(document.getElementById("L10")).toHaveAttribute("data-cited"));
  });
});

describe("rules page", () => {
  it("displays thresholds with their origin and overrides", async () => {
    openScreen("/rules?rule=F-CPU-RUNQ-DELAY");
    const table = await screen.findByRole("region", { name: "Thresholds" });
    expect(within(table).getByText("what a person notices in one request")).toBeVisible();
    expect(within(table).getAllByText("> 3 ms")[0]).toBeVisible();
    expect(await within(table).findByText("8 ms")).toBeVisible();
    expect(screen.getByText(/A cpuset that is too small looks the same/)).toBeVisible();
  });

  it("lets an admin override a threshold for a label, with a required reason", async () => {
    const user = userEvent.setup();
    openScreen("/rules?rule=F-MEM-RECLAIM");
    await user.click(await screen.findByRole("button", { name: "Change the threshold warn" }));
    const dialog = await screen.findByRole("dialog");
    const value = within(dialog).getByRole("textbox", { name: /^New value/ });
    await user.clear(value);
    await user.type(value, "20");
    await user.click(within(dialog).getByRole("radio", { name: "Hosts with a label" }));
    await user.type(await within(dialog).findByRole("combobox", { name: "Label" }), "role=db");
    expect(within(dialog).getByRole("button", { name: "Set threshold" })).toBeDisabled();
    await user.type(within(dialog).getByRole("textbox", { name: /^Reason/ }), "reclaim is normal there");
    await user.click(within(dialog).getByRole("button", { name: "Set threshold" }));
    await waitFor(() =>
      expect(sentRequests.find((request) => request.method === "PUT")?.body).toEqual({
        name: "F-MEM-RECLAIM.warn",
        value: 20,
        label_name: "role",
        label_value: "db",
        why: "reclaim is normal there",
      }),
    );
  });

  it("lists overrides, and resets an override after confirmation", async () => {
    const user = userEvent.setup();
    openScreen("/rules?view=changed");
    expect(await screen.findByText(/Archive disks of the databases/)).toBeVisible();
    expect(screen.getByText("role=db")).toBeVisible();
    const row = screen.getByText("role=db").closest("tr") as HTMLElement;
    await user.click(within(row).getByRole("button", { name: "Reset to default" }));
    expect(sentRequests.some((request) => request.method === "DELETE")).toBe(false);
    await user.click(
      within(await screen.findByRole("dialog")).getByRole("button", { name: "Reset to default" }),
    );
    await waitFor(() => expect(sentRequests.some((request) => request.method === "DELETE")).toBe(true));
    await waitFor(() => expect(screen.queryByText("role=db")).toBeNull());
  });

  it("lets only admins change thresholds", async () => {
    state.role = "oncall";
    openScreen("/rules?rule=F-MEM-RECLAIM");
    await screen.findByRole("region", { name: "Thresholds" });
    expect(screen.queryByRole("button", { name: /^Change/ })).toBeNull();
  });

  it("displays the maximum confidence of a cause", async () => {
    openScreen("/rules?view=causes&cause=listen-queue-overflow");
    expect(await screen.findByText(/at most possible/)).toBeVisible();
    expect(screen.getByRole("link", { name: "A listen queue overflows" })).toHaveAttribute(
      "href",
      expect.stringContaining("rule=F-NET-LISTEN-OVERFLOW"),
    );
  });
});
