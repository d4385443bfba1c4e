import { execFileSync } from "node:child_process";
import { statSync, truncateSync } from "node:fs";
import { culprit, OUT, thisHost } from "../support/platform";
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
    n: number;
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

const host = thisHost();

/** One capture by the command line, and what it prints about its one run. */
function captured(plan: string): { capture: CaptureJson; run: RunJson } {
  const said = culprit("capture", host.name, "--plan", plan, "--seconds", "3", "--wait", "--json");
  const capture = JSON.parse(said) as CaptureJson;
  expect(capture.state).toBe("done");
  const id = capture.runs[0]?.id ?? "";
  return { capture, run: JSON.parse(culprit("show", id, "--json")) as RunJson };
}

test("a terminal takes a profile of the whole host", () => {
  const { capture, run } = captured("cpu");
  expect(capture.runs).toHaveLength(1);
  expect(capture.runs[0]?.host).toBe(host.name);
  for (const one of capture.runs[0]?.collectors ?? []) {
    // What this machine does not have is skipped, and says what it would take.
    expect(["done", "skipped"], `${one.id}: ${one.reason}`).toContain(one.state);
    if (one.state === "skipped") expect(one.reason, one.id).toBeTruthy();
    else expect(one.bytes, one.id).toBeGreaterThan(0);
  }
  expect(run.run).toBe(capture.runs[0]?.id);
  expect(run.facts.cpus).toBeGreaterThan(0);
  const busy = run.series.find((one) => one.id === "cpu.busy_pct" && Object.keys(one.labels).length === 0);
  expect(busy?.unit).toBe("pct");
  expect(busy?.n).toBeGreaterThan(0);
  expect(busy?.max).toBeGreaterThanOrEqual(busy?.mean ?? 101);
  const profile = run.profiles.find((one) => one.kind === "on_cpu");
  expect(profile?.samples).toBeGreaterThan(50);
  expect(profile?.unknown_share).toBeLessThanOrEqual(1);
  expect(profile?.top[0]?.self).toBeGreaterThan(0);
  expect(run.sched).toEqual([]);
  const known = JSON.parse(culprit("captures", "--json")) as CaptureJson[];
  expect(known.map((one) => one.capture)).toContain(capture.capture);
});

test("who waited for a CPU, and how long, is told in the terminal and on the screen", async ({ page }) => {
  const { run } = captured("sched");
  expect(run.sched.length).toBeGreaterThan(5);
  for (const task of run.sched) {
    expect(task.task).not.toBe("");
    expect(task.switches).toBeGreaterThanOrEqual(0);
    // A task that never waited while somebody looked has no delay, which is not a delay of 0.
    if (task.delay_max_ms !== null) expect(task.delay_max_ms).toBeGreaterThanOrEqual(task.delay_avg_ms ?? 0);
  }
  expect(run.sched.some((task) => task.runtime_ms > 0 && task.switches > 1)).toBe(true);
  await page.goto(`/runs/${run.run}`);
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  const longest = [...run.sched].sort((a, b) => (b.delay_max_ms ?? 0) - (a.delay_max_ms ?? 0))[0];
  expect(longest?.delay_max_ms).toBeGreaterThan(0);
  await expect(page.getByRole("row", { name: longest?.task }).first()).toBeVisible();
});

test("a damaged recording is told as such by the command that brought it", () => {
  const file = `${OUT}/damaged.data`;
  execFileSync("perf", ["record", "-q", "-a", "-g", "-F", "99", "-o", file, "sleep", "1"]);
  truncateSync(file, Math.floor(statSync(file).size / 2));
  let told = { status: 0, stderr: "" };
  try {
    culprit("import", file, "--wait");
  } catch (error) {
    told = error as typeof told;
  }
  // Refused at the door or failed afterwards: that depends on how much of it was lost.
  expect([4, 5]).toContain(told.status);
  expect(told.stderr).toContain("perf cannot read this file");
});
