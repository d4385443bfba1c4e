import { expectAccessible, recordConsoleErrors } from "../support/check";
import { getLocalHost, OUTPUT_DIR, runCulprit, runRejectedCommand } from "../support/platform";
import { expect, test } from "../support/test";

const host = getLocalHost();
const captureArguments = (seconds: number, ...more: string[]): string[] => [
  ...["capture", "create", host.name, "--plan", "custom", "--collector", "vmstat"],
  ...["--seconds", String(seconds), ...more],
];

test("the kill switch cancels captures, refuses starts, and is on every screen", { tag: "@alone" }, async ({
  page,
}) => {
  const expectNoErrors = recordConsoleErrors(page);
  const running = JSON.parse(runCulprit(...captureArguments(60, "--json"))) as { capture: string };
  await page.goto(`/captures/${running.capture}`);
  await expect(page.getByText("running", { exact: true }).first()).toBeVisible({ timeout: 30_000 });

  await page.getByRole("button", { name: "Kill switch" }).click();
  const dialog = page.getByRole("dialog", { name: "Kill switch" });
  await dialog.getByRole("textbox", { name: "Reason" }).fill("the disks are being changed");
  await expectAccessible(page);
  await dialog.getByRole("button", { name: "Stop all hosts now" }).click();
  const band = page.getByRole("alert").filter({ hasText: "Kill switch: nothing starts" });
  await expect(band).toContainText("all hosts: the disks are being changed");
  await expect(band).toContainText("admin");
  await expect(page.getByText("canceled", { exact: true }).first()).toBeVisible({ timeout: 30_000 });
  await expectAccessible(page);
  await page.screenshot({ path: `${OUTPUT_DIR}/kill-switch.png` });

  expect(runRejectedCommand(...captureArguments(2))).toContain("kill switch");
  await page.goto("/hosts");
  await expect(band).toBeVisible();
  await band.getByRole("button", { name: "Deactivate the kill switch: all hosts" }).click();
  await expect(band).toHaveCount(0);
  const again = JSON.parse(runCulprit(...captureArguments(2, "--wait", "--json"))) as { state: string };
  expect(again.state).toBe("done");
  expectNoErrors();
});
