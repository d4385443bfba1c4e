import {
  expectAccessible,
  expectNoSidewaysScroll,
  expectTablesFit,
  recordConsoleErrors,
} from "../support/check";
import { getLocalHost, OUTPUT_DIR, runCulprit } from "../support/platform";
import { expect, test } from "../support/test";

interface Diagnosis {
  host: string;
  state: string;
  causes: { id: string; confidence: string; evidence: { artifact: string; locator: object }[] }[];
  ruled_out: { id: string; by: { metric: string; artifact: string }[] }[];
  not_collected: { finding: string; reason: { key: string } }[];
  runs: string[];
  seconds: number;
}

test.describe.configure({ mode: "serial" });

const host = getLocalHost();

test("a diagnosis of a host links every number to its source line", async ({ page }) => {
  // Three stages, each with a capture and its analysis, on CPUs that are shared with other tests.
  test.setTimeout(300_000);
  const expectNoErrors = recordConsoleErrors(page);
  await page.goto(`/hosts/${host.id}`);
  await page.getByRole("button", { name: "Diagnose", exact: true }).first().click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByText(/traces and changes nothing|trace and change nothing/)).toBeVisible();
  await dialog.getByRole("button", { name: "Diagnose", exact: true }).click();

  await expect(page).toHaveURL(/\/diagnoses\//);
  await expect(page.getByRole("button", { name: "Cancel diagnosis" })).toBeVisible({ timeout: 30_000 });
  await page.screenshot({ path: `${OUTPUT_DIR}/diagnosis-live.png` });
  await expect(page.getByRole("heading", { name: "Ruled out" })).toBeVisible({ timeout: 240_000 });
  await expectAccessible(page);
  await expectNoSidewaysScroll(page);
  await page.screenshot({ path: `${OUTPUT_DIR}/diagnosis-done.png`, fullPage: true });
  const doneUrl = page.url();

  await page.getByRole("heading", { name: "Ruled out" }).getByRole("button").click();
  const number = page
    .getByRole("list", { name: /^Numbers against/ })
    .first()
    .getByRole("link")
    .first();
  await number.click();
  await expect(page).toHaveURL(/line=\d+/);
  await expect(page.locator("[data-cited]").first()).toBeVisible();
  await page.goto("/diagnoses");
  await expect(page.locator(`a[href="${new URL(doneUrl).pathname}"]`).first()).toBeVisible();

  await page.setViewportSize({ width: 390, height: 844 });
  for (const narrow of ["/diagnoses", doneUrl]) {
    await page.goto(narrow);
    await expect(page.getByText(host.name).first()).toBeVisible();
    await expectNoSidewaysScroll(page);
    await expectTablesFit(page);
  }
  expectNoErrors();
});

test("the command line starts a diagnosis and prints JSON", () => {
  test.setTimeout(300_000);
  const diagnosis = JSON.parse(runCulprit("diagnose", host.name, "--seconds", "5", "--json")) as Diagnosis;
  expect(diagnosis.state).toBe("done");
  expect(diagnosis.host).toBe(host.name);
  expect(diagnosis.runs.length).toBeGreaterThan(0);
  expect(diagnosis.ruled_out.length).toBeGreaterThan(0);
  for (const cause of diagnosis.causes) expect(cause.evidence.every((number) => number.artifact)).toBe(true);
  expect(diagnosis.seconds).toBeGreaterThan(5);
});

test("what changed between two captures leads to the timeline", async ({ page }) => {
  const expectNoErrors = recordConsoleErrors(page);
  await page.goto(`/what-changed?host=${host.id}`);
  const series = page.getByRole("region", { name: "Series" });
  await expect(series.getByRole("link").first()).toBeVisible({ timeout: 30_000 });
  await expectAccessible(page);
  await expectNoSidewaysScroll(page);
  await page.screenshot({ path: `${OUTPUT_DIR}/what-changed.png` });
  for (const name of ["Functions", "Configuration", "Events", "Series"]) {
    await page.getByRole("tab", { name: new RegExp(`^${name}`) }).click();
    await expect(page.getByRole("tab", { name: new RegExp(`^${name}`) })).toHaveAttribute(
      "aria-selected",
      "true",
    );
  }
  await series.getByRole("link").first().click();
  await expect(page).toHaveURL(/\/hosts\/.*tracks=/);
  await page.getByRole("button", { name: "Sort by change" }).click();
  await expect(page.getByText(/^Sorted by how much each series changed/)).toBeVisible();
  expectNoErrors();
});
