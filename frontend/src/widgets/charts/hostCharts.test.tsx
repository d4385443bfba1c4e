import { fireEvent, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it } from "vitest";
import { state } from "../../../mock/api";
import { listCaptures } from "../../../mock/captures/live";
import { overrideAnswer, sentRequests } from "../../../mock/server/msw";
import { openScreen, renderPart } from "../../testing/screen";
import type { RunVisuals, Visual, VisualCitation, VisualFigure } from "./api";
import { RunCharts } from "./RunCharts";

const RUN =
  listCaptures()
    .flatMap((capture) => capture.runs)
    .find((run) => run.state === "done")?.id ?? "";
const picture = async (name: string | RegExp) => screen.findByRole("region", { name });
const citation: VisualCitation = {
  run: "",
  collector: "c",
  artifact: "a",
  part: "p",
  lines: [3],
  profile: "",
  frame: "",
};
const figure = (value: number, unit: string): VisualFigure => ({ value, unit, citation });

/** Render the charts of a run that has only this chart. */
function show(body: Visual["body"]) {
  const visual: Visual = {
    id: "one",
    builder: "one",
    title: { en: "Only one", zh: "" },
    summary: { en: "How to read it.", zh: "" },
    subject: {},
    state: "ok",
    reason: null,
    body,
    left_out: 0,
    notes: [],
    rules: [],
    collectors: [],
  };
  overrideAnswer(({ path }) =>
    path.endsWith("/charts")
      ? { status: 200, body: { run_id: RUN, charts: [visual] } satisfies RunVisuals }
      : undefined,
  );
  renderPart(<RunCharts runId={RUN} />);
}

afterEach(() => {
  state.role = "admin";
  overrideAnswer(undefined);
});

describe("USE grid", () => {
  it("selects the worst cell, and displays the finding of a clicked cell", async () => {
    const user = userEvent.setup();
    openScreen(`/runs/${RUN}?tab=charts`);
    const grid = await picture("Utilization, saturation, errors");
    expect(within(grid).getByRole("button", { name: /^CPU, Utilization: critical, 100/ })).toHaveAttribute(
      "aria-pressed",
      "true",
    );
    await user.click(within(grid).getByRole("button", { name: /^CPU, Saturation: critical/ }));
    expect(await within(grid).findByRole("link", { name: "F-CPU-EXHAUSTED" })).toHaveAttribute(
      "href",
      expect.stringContaining("rule=F-CPU-EXHAUSTED"),
    );
    expect(within(grid).getByText(/3 matched of \d+ evaluated rules, \d+ in total/)).toBeVisible();
    expect(within(grid).getByRole("link", { name: /F-CPU-EXHAUSTED: open/ })).toHaveAttribute(
      "href",
      expect.stringMatching(/\/artifacts\/proc_schedstat\?.*line=\d+/),
    );
  });

  it("does not render unchecked cells as healthy", async () => {
    const user = userEvent.setup();
    renderPart(<RunCharts runId={RUN} />);
    const grid = await picture("Utilization, saturation, errors");
    const cell = within(grid).getByRole("button", { name: "Network, Errors: not checked" });
    expect(cell).toHaveAttribute("data-state", "unknown");
    await user.click(cell);
    expect(await within(grid).findByText(/0 matched of 0 evaluated rules, \d+ in total/)).toBeVisible();
  });
});

describe("charts over time", () => {
  it("displays values at the cursor, each with its source line", async () => {
    openScreen(`/runs/${RUN}?tab=charts`);
    const disk = await picture(/^Disk over time/);
    const slider = within(disk).getByRole("slider", { name: /selected instant/ });
    fireEvent.change(slider, { target: { value: "1" } });
    expect(within(disk).getByRole("link", { name: /^2.66.*Time of a request, Writes/ })).toHaveAttribute(
      "href",
      expect.stringContaining("line=21"),
    );
    expect(within(disk).getAllByText("Writes per request").at(-1)?.parentElement).toHaveTextContent("1.2");
  });

  it("lists OOM kills with the line of the kernel log", async () => {
    openScreen(`/runs/${RUN}?tab=charts`);
    const [group] = await screen.findAllByRole("region", { name: /^Memory of control groups.*\/h1lab\/app/ });
    const kill = within(group as HTMLElement).getByRole("link", {
      name: /Killed for want of memory python3/,
    });
    expect(kill).toHaveAttribute("href", expect.stringMatching(/\/artifacts\/kmsg\?.*line=78/));
  });

  it("lists the kernel functions of blocked tasks", async () => {
    renderPart(<RunCharts runId={RUN} />);
    const load = await picture("What the load is made of");
    expect(within(load).getByText("folio_wait_bit_common")).toBeVisible();
  });

  it("hatches times without readings, but not zero", async () => {
    const track = (values: (number | null)[]) => ({
      id: "x",
      label: "x",
      unit: "count",
      values,
      lines: values.map(() => 0),
      citation,
    });
    show({
      kind: "panels",
      from_ns: 0,
      to_ns: 4e9,
      panels: [
        {
          id: "p",
          label: "p",
          unit: "count",
          shape: "line",
          t_ns: [0, 1e9, 2e9, 3e9, 4e9],
          tracks: [track([0, 0, null, null, 0])],
          related: [],
          levels: [],
        },
      ],
      moments: [{ t_ns: -9e9, label: "Killed", detail: "x 1", is_critical: true, citation }],
      facts: [],
      parts_label: "",
      parts: [],
    });
    const region = await picture("Only one");
    expect(region.querySelectorAll("rect[fill$='-none)']")).toHaveLength(1);
    expect(within(region).getByText("before the capture")).toBeVisible();
  });
});

describe("NUMA matrix", () => {
  it("marks memory on the wrong node and displays the reason", async () => {
    renderPart(<RunCharts runId={RUN} />);
    const [matrix] = await screen.findAllByRole("region", { name: /^Memory by node/ });
    const region = within(matrix as HTMLElement);
    expect(
      region.getByText(/^✕ The cpuset of \/services\/api allows node 0 for CPUs and node 1 for memory/),
    ).toBeVisible();
    expect(
      region.getByRole("link", { name: /CPUs of node 0, memory of node 1: 1,913/ }).querySelector("rect"),
    ).toHaveAttribute("data-mismatch", "true");
    expect(region.getByText("99.2 % on another node")).toBeVisible();
  });
});

describe("scheduling latency", () => {
  it("displays the baseline run, and the tasks that ran during the longest waits", async () => {
    const user = userEvent.setup();
    openScreen(`/runs/${RUN}?before=r-0199`);
    const waits = await picture("Waits for a CPU");
    expect(within(waits).getByText("before", { exact: false, selector: "dt" })).toBeVisible();
    expect(within(waits).getAllByText(/^postgres 11130/)[0]).toBeVisible();
    expect(within(waits).getAllByText(/python 10847 21.6/)[0]).toBeVisible();
    expect(sentRequests.some(({ query }) => query.get("baseline") === "r-0199")).toBe(true);
    await user.click(within(waits).getByRole("button", { name: /as a table/ }));
    expect(within(waits).getAllByRole("table")).toHaveLength(2);
  });
});

describe("softirqs on each CPU", () => {
  it("displays the selected vector, and the rates in the brushed range", async () => {
    const user = userEvent.setup();
    renderPart(<RunCharts runId={RUN} />);
    const heat = await picture("Softirqs, CPU by CPU");
    expect(within(heat).getByText(/^CPU 1 196/)).toBeVisible();
    await user.click(within(heat).getByRole("radio", { name: "TIMER" }));
    expect(within(heat).getByRole("group", { name: /TIMER$/ })).toBeVisible();
    fireEvent.keyDown(within(heat).getByTestId("heat"), { key: "ArrowRight" });
    expect(await within(heat).findByText("In the range")).toBeVisible();
  });
});

describe("peers", () => {
  it("links the outlier to its source line", async () => {
    renderPart(<RunCharts runId={RUN} />);
    const peers = await picture("Compared with peers");
    expect(
      within(peers).getAllByRole("link", { name: /^CPU busy, this host, outlier: 100/ })[0],
    ).toBeVisible();
    expect(within(peers).getAllByText(/1 of 24 are outliers$/)[0]).toBeInTheDocument();
  });
});

describe("charts with no data or very much data", () => {
  const waits = {
    edges_us: [0],
    counts: [0],
    waits: 0,
    average: figure(0, "ms"),
    p99: figure(0, "ms"),
    maximum: figure(0, "ms"),
    lost_share: 0,
  };
  const many = Array.from({ length: 256 }, (_, i) => String(i));
  const dots = Array.from({ length: 500 }, (_, i) => ({
    host: `h${i}`,
    figure: figure(i === 7 ? 900 : 10 + (i % 5), "pct"),
    z: i === 7 ? 100 : 0,
    unlike: i === 7,
    own: i === 0,
  }));
  it.each<Visual["body"]>([
    { kind: "use_grid", rows: [] },
    { kind: "panels", from_ns: 0, to_ns: 0, panels: [], moments: [], facts: [], parts_label: "", parts: [] },
    { kind: "numa_matrix", value_label: "", unit: "kb", columns: [], rows: [], far_pct: null, cpusets: [] },
    { kind: "sched_latency", now: waits, before: null, worst: [] },
    { kind: "cpu_heat", t_ns: [], step_ns: 1, cpus: [], matrices: [], busy: [] },
    {
      kind: "cpu_heat",
      t_ns: [0, 1e9],
      step_ns: 1e9,
      cpus: many,
      matrices: [
        {
          vector: "NET_RX",
          unit: "per_s",
          values: many.map((_, i) => [i, i === 9 ? null : 2]),
          lines: [1, 2],
          citation,
          total: figure(1, "per_s"),
          maximum: figure(255, "per_s"),
          uneven: null,
          busiest: "255",
        },
      ],
      busy: many.map(() => null),
    },
    { kind: "peer_strips", strips: [] },
    {
      kind: "peer_strips",
      strips: [{ id: "s", label: "s", unit: "pct", hosts: 500, median: 12, low: 5, high: 19, dots }],
    },
  ])("render without NaN, Infinity or undefined: %o", async (body) => {
    const user = userEvent.setup();
    show(body);
    const region = await picture("Only one");
    expect(region.innerHTML).not.toMatch(/NaN|Infinity|undefined/);
    await user.click(within(region).getByRole("button", { name: /as a table/ }));
    expect(region.innerHTML).not.toMatch(/NaN|Infinity|undefined/);
  });
});
