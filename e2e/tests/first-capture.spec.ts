import { copyFileSync, mkdirSync } from "node:fs";
import type { Page } from "@playwright/test";
import { expectAccessible, recordConsoleErrors } from "../support/check";
import { getLocalHost, OUTPUT_DIR, REPOSITORY_DIR, runCulprit } from "../support/platform";
import { expect, test } from "../support/test";

test.describe.configure({ mode: "serial" });

const host = getLocalHost();
let profile = "";

test("a busy machine is captured live, from the list of commands to the flame graph", async ({ page }) => {
  test.setTimeout(180_000);
  const expectNoErrors = recordConsoleErrors(page);
  await page.goto(`/hosts/${host.id}`);
  await page.getByRole("button", { name: "Run demo load for 20 s" }).click();
  await page.getByRole("button", { name: "New capture" }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("combobox", { name: "Plan" }).click();
  await page.getByRole("option", { name: /cpu/i }).first().click();
  await dialog.getByRole("textbox", { name: "Seconds" }).fill("8");
  await expect(dialog.getByText(/perf record -F 99 -a -g/)).toBeVisible();
  await dialog.getByRole("textbox", { name: "Reason" }).fill("first capture");
  await dialog.getByRole("button", { name: /^Run on 1 host/ }).click();

  await expect(page).toHaveURL(/\/captures\//);
  await expect(page.getByText("running").first()).toBeVisible({ timeout: 30_000 });
  await page.screenshot({ path: `${OUTPUT_DIR}/capture-live.png` });
  await expect.poll(async () => (await openCapture(page)).state, { timeout: 80_000 }).toBe("done");
  await page.screenshot({ path: `${OUTPUT_DIR}/capture-done.png` });
  await page.goto(`/runs/${(await openCapture(page)).runs[0]?.id}`);
  await expect(page.getByRole("heading", { name: `Run on ${host.name}` })).toBeVisible({ timeout: 60_000 });
  // All tabs together had 25,000 DOM nodes, which rendered slowly on shared CPUs.
  expect(await page.locator("*").count()).toBeLessThan(3000);
  await page.getByRole("link", { name: /On-CPU flame graph/ }).click();
  await expect(page.getByTestId("flame").locator("svg, canvas").first()).toBeVisible();
  profile = page.url();
  await expectAccessible(page);
  await page.screenshot({ path: `${OUTPUT_DIR}/profile.png` });
  expectNoErrors();
});

interface Capture {
  state: string;
  runs: { id: string }[];
}

/** Load the capture of the current page from the API. */
async function openCapture(page: Page): Promise<Capture> {
  const id = /captures\/([0-9a-f-]{36})/.exec(page.url())?.[1];
  return (await (await page.request.get(`/api/v1/captures/${id}`)).json()) as Capture;
}

test("the whole view is in the URL: search, zoom, brush, and back", async ({ page }) => {
  await page.goto(profile);
  const flame = page.getByTestId("flame");
  await expect(flame.locator("svg, canvas").first()).toBeVisible();
  expect(Number(await flame.getAttribute("data-frames"))).toBeGreaterThan(20);

  await page.getByRole("textbox", { name: "Search frames" }).fill("busy");
  await expect(page.getByTestId("search-share")).toHaveText(/%/);
  await expect(page).toHaveURL(/q=busy/);
  await page.getByRole("textbox", { name: "Search frames" }).press("Escape");

  await flame.focus();
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowUp");
  await expect(page.getByTestId("detail")).toContainText("total");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/[?&]at=/);
  await page.goBack();
  await expect(page).not.toHaveURL(/[?&]at=/);

  const strip = page.getByTestId("heat");
  const box = await strip.boundingBox();
  if (!box) throw new Error("no heat strip");
  await page.mouse.move(box.x + box.width * 0.3, box.y + 10);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.6, box.y + 10, { steps: 5 });
  await page.mouse.up();
  await expect(page).toHaveURL(/b=\d+~\d+/);
  await expect(page.getByRole("button", { name: /^brush/ })).toBeVisible();
  const brushed = page.url();
  await page.reload();
  await expect(page.getByRole("button", { name: /^brush/ })).toBeVisible();
  expect(page.url()).toBe(brushed);
});

test("two ranges of one profile are compared by two brushes", async ({ page }) => {
  await page.goto(profile);
  // The heat map moves until the content above it has loaded.
  await expect(page.getByTestId("flame").locator("svg, canvas").first()).toBeVisible();
  const strip = page.getByTestId("heat");
  const box = await strip.boundingBox();
  if (!box) throw new Error("no heat strip");
  const drag = async (from: number, to: number) => {
    await page.mouse.move(box.x + box.width * from, box.y + 8);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * to, box.y + 8, { steps: 4 });
    await page.mouse.up();
  };
  await drag(0.55, 0.95);
  await page.keyboard.down("Shift");
  await drag(0.05, 0.45);
  await page.keyboard.up("Shift");
  await page.getByRole("button", { name: "Compare brush with baseline" }).click();
  await expect(page).toHaveURL(/\/comparisons\//);
  await expect(page.getByTestId("flame").locator("svg, canvas").first()).toBeVisible({ timeout: 30_000 });
  await expect(page.getByRole("heading", { name: "Only in A" })).toBeVisible();
});

test("the host's timeline has the capture, supports keys and links to the source line of a value", async ({
  page,
}) => {
  await page.goto(`/hosts/${host.id}`);
  await expect(page.getByText("CPU busy").first()).toBeVisible();
  await expect(page.getByText(/Softirqs, per CPU/).first()).toBeVisible();
  await expectAccessible(page);
  await page.screenshot({ path: `${OUTPUT_DIR}/host.png` });
  await page.keyboard.press("w");
  await expect(page).toHaveURL(/[?&]t=\d+~\d+/);
  const zoomed = page.url();
  await page.keyboard.press("d");
  await expect(page).not.toHaveURL(zoomed);
  await page.goto(`/hosts/${host.id}`);
  const tracks = page.getByRole("region", { name: "Tracks of measurements over time" });
  await tracks.getByText("CPU busy").first().scrollIntoViewIfNeeded();
  const track = await tracks.getByText("CPU busy").first().boundingBox();
  const all = await tracks.boundingBox();
  if (!track || !all) throw new Error("no tracks");
  // Click relative to the region, because the region moves while panels above it load.
  const middle = { x: 280 + (all.width - 280) * 0.5, y: track.y - all.y + track.height / 2 };
  await tracks.click({ position: middle });
  await page.getByRole("link", { name: /^Open .*line \d+/ }).click();
  await expect(page.locator("[data-cited]")).toBeVisible();
});

test("a profile is exported as folded stacks, SVG and speedscope JSON", async ({ page }) => {
  const id = /profiles\/([^?/]+)/.exec(profile)?.[1];
  const folded = await page.request.get(`/api/v1/profiles/${id}/export?format=folded`);
  expect(await folded.text()).toMatch(/^[^\n]+ \d+\n/);
  const svg = await page.request.get(`/api/v1/profiles/${id}/export?format=svg`);
  expect(svg.headers()["content-disposition"]).toContain("attachment");
  expect(await svg.text()).toContain("<svg");
  const scope = (await (
    await page.request.get(`/api/v1/profiles/${id}/export?format=speedscope`)
  ).json()) as {
    $schema: string;
  };
  expect(scope.$schema).toContain("speedscope");
});

test("the load of the machine has function names in its flame graph", async ({ page }) => {
  await page.goto(`/hosts/${host.id}`);
  await page.getByRole("button", { name: "Run demo load for 20 s" }).click();
  await expect(page.getByText(/Demo load runs for \d+ s more/)).toBeVisible();
  // Leave the page, because a rendering browser on this machine would dominate the profile.
  await page.goto("about:blank");
  const output = runCulprit(
    "capture",
    "create",
    host.name,
    "--plan",
    "cpu",
    "--seconds",
    "8",
    "--wait",
    "--json",
  );
  const id = (JSON.parse(output) as Capture).runs[0]?.id ?? "";
  const run = JSON.parse(runCulprit("run", "show", id, "--json")) as {
    profiles: { unknown_share: number }[];
  };
  expect(run.profiles[0]?.unknown_share).toBeLessThan(0.6);
  await page.goto(`/runs/${id}`);
  await page.getByRole("link", { name: /On-CPU flame graph/ }).click();
  await expect(page.getByTestId("flame").locator("svg, canvas").first()).toBeVisible();
  // A frame may be too narrow for its label, depending on what else runs on the machine.
  const search = page.getByRole("textbox", { name: "Search frames" });
  for (const name of ["busy-pages", "busy-tcp", "busy-files", "tcp_sendmsg"]) {
    await search.fill(name);
    await expect(page.getByTestId("search-share")).toHaveText(/[1-9].*%/);
  }
  await search.fill("");
  await search.press("Escape");
  await page.mouse.move(0, 0);
  await page.screenshot({ path: `${OUTPUT_DIR}/profile-busy.png` });
  // The README uses this screenshot.
  if (process.env.CULPRIT_FULL) {
    mkdirSync(`${REPOSITORY_DIR}/docs/images`, { recursive: true });
    copyFileSync(`${OUTPUT_DIR}/profile-busy.png`, `${REPOSITORY_DIR}/docs/images/profile.png`);
  }
});
