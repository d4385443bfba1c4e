import { accessible, watchConsole } from "../support/check";
import { culprit, OUT, thisHost } from "../support/platform";
import { expect, test } from "../support/test";

const host = thisHost();

/** A wall-clock time of UTC so many seconds from now. */
const soon = (seconds: number): string => new Date(Date.now() + seconds * 1000).toISOString().slice(0, 19);

test("a schedule fires by itself, and its record leads to what was captured", async ({ page }) => {
  const clean = watchConsole(page);
  const name = `once-${Date.now()}`;
  const made = JSON.parse(
    culprit(
      ...["schedule", "new", name, "--at", soon(10), "--zone", "UTC", "--host", host.name],
      ...[
        "--plan",
        "custom",
        "--collector",
        "vmstat",
        "--seconds",
        "2",
        "--reason",
        "nobody watches",
        "--json",
      ],
    ),
  ) as { id: string };
  await page.goto(`/schedules?one=${made.id}`);
  const past = page.getByRole("region", { name: "What became of it" });
  await expect(past.getByText("fired")).toBeVisible({ timeout: 45_000 });
  await accessible(page);
  await page.screenshot({ path: `${OUT}/schedule.png` });
  await past.getByRole("link", { name: /^#/ }).click();
  await expect(page).toHaveURL(/\/captures\//);
  await expect(page.getByText("nobody watches").first()).toBeVisible();
  await expect(page.getByText("done", { exact: true }).first()).toBeVisible({ timeout: 60_000 });
  clean();
});

test("the next due times follow what one types, and who is on call stands in the head", async ({ page }) => {
  await page.goto("/schedules?act=add");
  const dialog = page.getByRole("dialog");
  const next = dialog.getByRole("region", { name: "When it is due next" });
  await dialog.getByRole("textbox", { name: "Cron fields" }).fill("15 4 * * *");
  await expect(next.getByText(/ 04:15 /).first()).toBeVisible();
  await dialog.getByRole("textbox", { name: "Cron fields" }).fill("15 4 * *");
  await expect(dialog.getByText(/These cron fields cannot be read/)).toBeVisible();
  await page.goto("/oncall?act=add");
  await page.getByRole("dialog").getByRole("textbox", { name: "Name" }).fill(`primary-${Date.now()}`);
  await page.getByRole("dialog").getByRole("combobox", { name: "People" }).click();
  await page.getByRole("option", { name: "admin", exact: true }).click();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").getByRole("button", { name: "Add a rotation" }).click();
  await expect(page.getByRole("link", { name: /^On call: .*admin/ })).toBeVisible();
  await page.screenshot({ path: `${OUT}/oncall.png` });
});
