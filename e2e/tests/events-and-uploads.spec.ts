import { execFileSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expectAccessible, recordConsoleErrors } from "../support/check";
import { getLocalHost, OUTPUT_DIR, runCulprit } from "../support/platform";
import { expect, test } from "../support/test";

const host = getLocalHost();

test("a reported deploy is listed, edited and withdrawn", { tag: "@no-capture" }, async ({ page }) => {
  const expectNoErrors = recordConsoleErrors(page);
  const job = `job-${Date.now()}`;
  const what = `feed ${job} <b>bold</b>`;
  const report = ["event", "report", what, "--kind", "deploy", "--host", host.name, "--id", job, "--json"];
  const first = JSON.parse(runCulprit(...report)) as { id: string };
  expect((JSON.parse(runCulprit(...report, "--who", "ci")) as { id: string }).id).toBe(first.id);
  await page.goto("/events");
  const row = page.getByRole("row").filter({ hasText: what });
  await expect(row).toContainText("deploy");
  await expectAccessible(page);
  await row.getByRole("button", { name: `Edit ${what}` }).click();
  await page.getByRole("dialog").getByRole("textbox", { name: "Details" }).fill("rolled back");
  await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  await expect(row).toContainText("rolled back");
  await page.screenshot({ path: `${OUTPUT_DIR}/events.png` });
  await row.getByRole("button", { name: `Withdraw ${what}` }).click();
  await expect(row).toHaveCount(0);
  await page.getByRole("switch", { name: "Show withdrawn" }).click();
  await expect(row).toContainText("withdrawn");
  expectNoErrors();
});

test("a host with only a console uploads its capture with the displayed command", async ({ page }) => {
  test.setTimeout(150_000);
  const expectNoErrors = recordConsoleErrors(page);
  await page.goto("/captures?dialog=import");
  const dialog = page.getByRole("dialog");
  const name = `console-${Date.now()}`;
  await dialog.getByRole("textbox", { name: "or a name for a new host" }).fill(name);
  await dialog.getByRole("button", { name: "Create upload address" }).click();
  const command = dialog.getByRole("status").getByText(/^.*curl -fsS/);
  const line = (await command.first().innerText()).replace(/^\$\s*/, "").trim();
  const folder = mkdtempSync(join(tmpdir(), "console-"));
  const output = execFileSync("sh", ["-c", line], { cwd: folder, encoding: "utf8", timeout: 120_000 });
  expect(output).toContain("It is capture");
  const row = dialog.getByRole("row").filter({ hasText: name });
  await expect(row).toContainText("used");
  await expectAccessible(page);
  await row.getByRole("link").click();
  await expect(page).toHaveURL(/\/captures\//);
  await expect(page.getByText("done", { exact: true }).first()).toBeVisible({ timeout: 60_000 });
  await page.screenshot({ path: `${OUTPUT_DIR}/pushed.png` });
  expectNoErrors();
});
