import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it } from "vitest";
import { state } from "../../../mock/api";
import dropLadder from "../../../mock/captures/charts/drop-ladder.json" with { type: "json" };
import { listCaptures } from "../../../mock/captures/live";
import { overrideAnswer } from "../../../mock/server/msw";
import { openScreen } from "../../testing/screen";
import type { RunVisuals, Visual } from "./api";

const runIn = (state: string) =>
  listCaptures()
    .flatMap((capture) => capture.runs)
    .find((run) => run.state === state)?.id ?? "";
const RUN = runIn("done");
/** Return the chart with a heading. A table in it is a region of the same name and comes after it. */
const picture = async (name: string | RegExp) =>
  (await screen.findAllByRole("region", { name }))[0] as HTMLElement;

/** Open the run page with these charts. */
function show(...visuals: Partial<Visual>[]) {
  const all = visuals.map((visual) => ({ ...(dropLadder[0] as unknown as Visual), ...visual }));
  overrideAnswer(({ path }) =>
    path.endsWith("/charts")
      ? { status: 200, body: { run_id: RUN, charts: all } satisfies RunVisuals }
      : undefined,
  );
  return openScreen(`/runs/${RUN}?tab=charts`);
}

afterEach(() => {
  state.role = "admin";
  overrideAnswer(undefined);
});

describe("charts of a run", () => {
  it("displays the layers that lose packets, each loss with its source line", async () => {
    openScreen(`/runs/${RUN}?tab=charts`);
    const ladder = await picture("Where packets are lost");
    const layers = within(ladder).getAllByRole("listitem");
    expect(layers.map((layer) => layer.getAttribute("data-state"))).toContain("no_data");
    const softnet = layers.find((layer) => within(layer).queryByText("softnet queue")) as HTMLElement;
    expect(within(softnet).getByText("lost here")).toBeVisible();
    expect(within(softnet).getByRole("link", { name: /\/s.* a CPU's queue was full: open/ })).toHaveAttribute(
      "href",
      expect.stringMatching(/\/artifacts\/softnet\?line=\d+/),
    );
    expect(within(ladder).getByText("not collected")).toBeVisible();
  });

  it("switches to a table with the same numbers and source lines", async () => {
    const user = userEvent.setup();
    openScreen(`/runs/${RUN}?tab=charts`);
    for (const [name, cell] of [
      ["Queues of listening sockets", "0.0.0.0:8081 python"],
      ["TCP sockets by state", "CLOSE-WAIT"],
      ["What threads waited for", "lock (futex)"],
      ["Which thread waited for which", "0x707eed0"],
      ["Where the response time goes", "postgres · SELECT orders"],
      ["How long connecting took, to 10.77.0.1:80", "SYN retransmit 1 s"],
    ] as const) {
      const region = await picture(name.split(",")[0] === name ? name : /^How long connecting took/);
      await user.click(within(region).getByRole("button", { name: `${name}: as a table` }));
      const table = within(region).getByRole("table");
      expect(within(table).getAllByText(cell)[0]).toBeVisible();
      expect(within(table).getAllByRole("link")[0]).toHaveAttribute(
        "href",
        expect.stringContaining("/artifacts/"),
      );
    }
  });

  it("displays the number of SYN retransmits and of unanswered connections", async () => {
    openScreen(`/runs/${RUN}?tab=charts`);
    const region = await picture(/^How long connecting took/);
    expect(
      within(region).getAllByText("SYN retransmit 1 s", { exact: false })[0]?.closest("li"),
    ).toHaveTextContent("49");
    expect(
      within(region).getAllByText("no answer in time", { exact: false })[0]?.closest("li"),
    ).toHaveTextContent("5");
  });

  it("lists charts without data, with the reason", async () => {
    const user = userEvent.setup();
    openScreen(`/runs/${runIn("partial")}?tab=charts`);
    await user.click(await screen.findByRole("button", { name: /^Charts without data/ }));
    expect((await screen.findAllByText(/was not collected\.$/))[0]).toBeVisible();
  });

  it("displays an error in the charts panel only, if the charts fail to load", async () => {
    overrideAnswer(({ path }) =>
      path.endsWith("/charts")
        ? { status: 503, body: { title: "Unavailable", status: 503, detail: "" } }
        : undefined,
    );
    openScreen(`/runs/${RUN}?tab=charts`);
    const panel = (await screen.findByRole("heading", { name: "Charts" })).closest("section") as HTMLElement;
    expect(await within(panel).findByRole("alert")).toBeVisible();
    expect(screen.getByRole("tab", { name: /^Collectors/ })).toBeVisible();
  });

  it("displays numbers without artifact links to a viewer", async () => {
    state.role = "viewer";
    openScreen(`/runs/${RUN}?tab=charts`);
    const region = await picture("Queues of listening sockets");
    expect(within(region).queryByRole("link")).toBeNull();
    expect(within(region).getByText(/✕ 6 \/ 5/)).toBeInTheDocument();
  });
});

describe("Gantt chart of threads", () => {
  const citation = {
    run: "",
    collector: "strace",
    artifact: "a",
    part: "stdout",
    lines: [],
    profile: "",
    frame: "",
  };
  const span = (at_ms: number, label: string) => ({
    at_ms,
    ms: 20,
    category: "net",
    label,
    line: 7,
    mark: "",
  });
  const body: Visual["body"] = {
    kind: "gantt",
    start_ms: 0,
    span_ms: 1000,
    categories: [["net", { en: "network", zh: "" }]],
    tracks: [
      {
        id: "7",
        label: "feed 7",
        citation,
        spans: [span(100, "recvfrom redis"), span(900, "write log")],
        brackets: [
          { at_ms: 80, ms: 200, label: "TCP:[8080]", line: 3, open: false },
          { at_ms: 700, ms: 300, label: "TCP:[8081]", line: 9, open: true },
        ],
      },
    ],
  };
  const zoomable = () => screen.findByRole("group", { name: /drag or Ctrl-wheel zooms/ });

  it("renders requests as brackets, each with the source line of its start", async () => {
    const user = userEvent.setup();
    show({ title: { en: "Threads", zh: "" }, body });
    const region = await picture("Threads");
    const bracket = within(region).getByText(/^TCP:\[8080\] · 200/);
    expect(bracket.closest("a")).toHaveAttribute("href", expect.stringMatching(/\/artifacts\/a\?line=3/));
    expect(within(region).getByText(/^TCP:\[8081\] · 300.* · still open at the end/)).toBeInTheDocument();
    await user.click(within(region).getByRole("button", { name: "Threads: as a table" }));
    expect(within(region).getAllByRole("cell", { name: "request" })).toHaveLength(2);
  });

  it("zooms and pans with keys while focused, and writes the range to the URL", async () => {
    const user = userEvent.setup();
    const router = show({ title: { en: "Threads", zh: "" }, body });
    const chart = await zoomable();
    chart.focus();
    await user.keyboard("{Shift>}W{/Shift}");
    await waitFor(() => expect(router.state.location.search).toMatchObject({ span: "379950~620050" }));
    await user.keyboard("{ArrowLeft}");
    await waitFor(() => expect(router.state.location.search).toMatchObject({ span: "355940~596040" }));
    await user.click(screen.getByRole("button", { name: "Show full time range" }));
    await waitFor(() => expect(router.state.location.search).not.toHaveProperty("span"));
  });
});

describe("charts with little or no data", () => {
  const citation = { run: "", collector: "c", artifact: "a", part: "p", lines: [3], profile: "", frame: "" };
  const nine = { value: 9, unit: "ms", citation };
  it.each<Visual["body"]>([
    { kind: "gauges", value_label: "v", capacity_label: "c", rows: [] },
    { kind: "ladder", layers: [] },
    { kind: "stacked", unit: "count", t_ms: [], tracks: [] },
    {
      kind: "histogram",
      unit: "ms",
      bins: [],
      bands: [],
      markers: [["p50", nine]],
      unbinned: [["lost", nine, "bad"]],
    },
    { kind: "graph", nodes: [], edges: [] },
    { kind: "gantt", start_ms: 0, span_ms: 0.001, categories: [], tracks: [] },
    { kind: "path", hops: [] },
    { kind: "stages", row_label: "stage", columns: [], rows: [] },
  ])("render without NaN, Infinity or undefined: %o", async (body) => {
    const user = userEvent.setup();
    show({ title: { en: "Hardly anything", zh: "" }, body });
    const region = await picture("Hardly anything");
    await user.click(within(region).getByRole("button"));
    expect(within(region).getByRole("table")).toBeVisible();
    expect(region.innerHTML).not.toMatch(/NaN|Infinity|undefined/);
  });

  it("renders a deadlock with a back edge", async () => {
    const thread = (id: string) => ({ id, label: id, kind: "thread" as const, figure: null });
    const waits = (source: string, target: string) => ({
      source,
      target,
      via: "lock",
      waited: nine,
      times: null,
    });
    show({
      title: { en: "A ring", zh: "" },
      body: { kind: "graph", nodes: ["a", "b"].map(thread), edges: [waits("a", "b"), waits("b", "a")] },
    });
    const region = await picture("A ring");
    expect(region.querySelectorAll("path[data-back]")).toHaveLength(1);
  });
});
