import { expectAccessible, recordConsoleErrors } from "../support/check";
import { getLocalHost, OUTPUT_DIR, runCulprit } from "../support/platform";
import { expect, test } from "../support/test";

const host = getLocalHost();

/** Return the time in UTC after some seconds. */
const utcTimeIn = (seconds: number): string =>
  new Date(Date.now() + seconds * 1000).toISOString().slice(0, 19);

test("a schedule starts a capture, and its record links to it", async ({ page }) => {
  const expectNoErrors = recordConsoleErrors(page);
  const name = `once-${Date.now()}`;
  const schedule = JSON.parse(
    runCulprit(
      ...["schedule", "create", name, "--at", utcTimeIn(10), "--zone", "UTC", "--host", host.name],
      ...[
        "--plan",
        "custom",
        "--collector",
        "vmstat",
        "--seconds",
        "2",
        "--reason",
        "nightly check",
        "--json",
      ],
    ),
  ) as { id: string };
  await page.goto(`/schedules?schedule=${schedule.id}`);
  const past = page.getByRole("region", { name: "History" });
  await expect(past.getByText("started")).toBeVisible({ timeout: 45_000 });
  await expectAccessible(page);
  await page.screenshot({ path: `${OUTPUT_DIR}/schedule.png` });
  await past.getByRole("link", { name: /^#/ }).click();
  await expect(page).toHaveURL(/\/captures\//);
  await expect(page.getByText("nightly check").first()).toBeVisible();
  await expect(page.getByText("done", { exact: true }).first()).toBeVisible({ timeout: 60_000 });
  expectNoErrors();
});

test("the preview follows the cron fields, and the header shows who is on call", {
  tag: "@no-capture",
}, async ({ page }) => {
  await page.goto("/schedules?dialog=add");
  const dialog = page.getByRole("dialog");
  const next = dialog.getByRole("region", { name: "Next due times" });
  await dialog.getByRole("textbox", { name: "Cron fields" }).fill("15 4 * * *");
  await expect(next.getByText(/ 04:15 /).first()).toBeVisible();
  await dialog.getByRole("textbox", { name: "Cron fields" }).fill("15 4 * *");
  await expect(dialog.getByText(/Cannot parse the cron fields/)).toBeVisible();
  await page.goto("/oncall?dialog=add");
  await page.getByRole("dialog").getByRole("textbox", { name: "Name" }).fill(`primary-${Date.now()}`);
  await page.getByRole("dialog").getByRole("combobox", { name: "People" }).click();
  await page.getByRole("option", { name: "admin", exact: true }).click();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").getByRole("button", { name: "Add rotation" }).click();
  await expect(page.getByRole("link", { name: /^On call: .*admin/ })).toBeVisible();
  await page.screenshot({ path: `${OUTPUT_DIR}/oncall.png` });
});
