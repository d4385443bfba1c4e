import { execFileSync } from "node:child_process";
import { statSync, truncateSync } from "node:fs";
import { getLocalHost, OUTPUT_DIR, runCulprit } from "../support/platform";
import { expect, test } from "../support/test";

interface CaptureJson {
  capture: string;
  state: string;
  runs: {
    id: string;
    host: string;
    state: string;
    seconds: number;
    collectors: { id: string; state: string; reason: string | null; bytes: number }[];
  }[];
}

interface RunJson {
  run: string;
  host: string;
  facts: { cpus: number; kernel: string };
  series: {
    id: string;
    labels: Record<string, string>;
    unit: string;
    sample_count: number;
    min: number;
    mean: number;
    max: number;
  }[];
  profiles: {
    kind: string;
    samples: number;
    lost: number;
    unknown_share: number;
    top: { frame: string; self: number; total: number }[];
  }[];
  sched: {
    task: string;
    runtime_ms: number;
    switches: number;
    delay_avg_ms: number | null;
    delay_p99_ms: number | null;
    delay_max_ms: number | null;
  }[];
  events: object[];
}

const host = getLocalHost();

/** Capture this machine with the command line; return the printed JSON of the capture and its run. */
function captureLocalHost(plan: string): { capture: CaptureJson; run: RunJson } {
  const output = runCulprit(
    "capture",
    "create",
    host.name,
    "--plan",
    plan,
    "--seconds",
    "3",
    "--wait",
    "--json",
  );
  const capture = JSON.parse(output) as CaptureJson;
  expect(capture.state).toBe("done");
  const id = capture.runs[0]?.id ?? "";
  return { capture, run: JSON.parse(runCulprit("run", "show", id, "--json")) as RunJson };
}

test("the command line takes a profile of the whole host", () => {
  const { capture, run } = captureLocalHost("cpu");
  expect(capture.runs).toHaveLength(1);
  expect(capture.runs[0]?.host).toBe(host.name);
  for (const collector of capture.runs[0]?.collectors ?? []) {
    // Symbols are fetched after the capture.
    if (collector.id === "symbols") continue;
    // A collector that this machine cannot run is skipped, with the reason.
    expect(["done", "skipped"], `${collector.id}: ${collector.reason}`).toContain(collector.state);
    if (collector.state === "skipped") expect(collector.reason, collector.id).toBeTruthy();
    else expect(collector.bytes, collector.id).toBeGreaterThan(0);
  }
  expect(run.run).toBe(capture.runs[0]?.id);
  expect(run.facts.cpus).toBeGreaterThan(0);
  const busy = run.series.find(
    (series) => series.id === "cpu.busy_pct" && Object.keys(series.labels).length === 0,
  );
  expect(busy?.unit).toBe("pct");
  expect(busy?.sample_count).toBeGreaterThan(0);
  expect(busy?.max).toBeGreaterThanOrEqual(busy?.mean ?? 101);
  const profile = run.profiles.find((item) => item.kind === "on_cpu");
  expect(profile?.samples).toBeGreaterThan(50);
  expect(profile?.unknown_share).toBeLessThanOrEqual(1);
  expect(profile?.top[0]?.self).toBeGreaterThan(0);
  expect(run.sched).toEqual([]);
  const known = JSON.parse(runCulprit("capture", "list", "--json")) as CaptureJson[];
  expect(known.map((item) => item.capture)).toContain(capture.capture);
});

test("waits for a CPU are in the terminal and on the screen", async ({ page }) => {
  test.setTimeout(180_000);
  const { run } = captureLocalHost("sched");
  expect(run.sched.length).toBeGreaterThan(5);
  for (const task of run.sched) {
    expect(task.task).not.toBe("");
    expect(task.switches).toBeGreaterThanOrEqual(0);
    // A task that never waited during the capture has a delay of null, not 0.
    if (task.delay_max_ms !== null) expect(task.delay_max_ms).toBeGreaterThanOrEqual(task.delay_avg_ms ?? 0);
  }
  expect(run.sched.some((task) => task.runtime_ms > 0 && task.switches > 1)).toBe(true);
  await page.goto(`/runs/${run.run}?tab=scheduler`);
  await expect(page.getByRole("heading", { name: `Run on ${host.name}` })).toBeVisible({ timeout: 60_000 });
  const longest = [...run.sched].sort((a, b) => (b.delay_max_ms ?? 0) - (a.delay_max_ms ?? 0))[0];
  expect(longest?.delay_max_ms).toBeGreaterThan(0);
  await expect(page.getByRole("row", { name: longest?.task }).first()).toBeVisible();
});

test("the import command reports a damaged recording", () => {
  const file = `${OUTPUT_DIR}/damaged.data`;
  execFileSync("perf", ["record", "-q", "-a", "-g", "-F", "99", "-o", file, "sleep", "1"]);
  truncateSync(file, Math.floor(statSync(file).size / 2));
  let failure = { status: 0, stderr: "" };
  try {
    runCulprit("capture", "import", file, "--wait");
  } catch (error) {
    failure = error as typeof failure;
  }
  // The upload is rejected or the import fails later, depending on how much of the file is missing.
  expect([4, 5]).toContain(failure.status);
  expect(failure.stderr).toContain("perf cannot read this file");
});
