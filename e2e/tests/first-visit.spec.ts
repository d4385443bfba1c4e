import { expectAccessible, recordConsoleErrors } from "../support/check";
import { LOGIN_URL, PASSWORD, SESSION_FILE } from "../support/platform";
import { expect, test } from "../support/test";

test("the printed link signs the first user in, once, and opens three entry points", async ({
  page,
  context,
}) => {
  const expectNoErrors = recordConsoleErrors(page);
  expect(LOGIN_URL).toContain("/login#");
  await page.goto(LOGIN_URL);
  await page.getByLabel("New password").fill(PASSWORD);
  await page.getByLabel("Repeat password").fill(PASSWORD);
  await page.getByRole("button", { name: "Set password and continue" }).click();
  await expect(page.getByText("Capture this server")).toBeVisible();
  await expect(page.getByText("Open example recording")).toBeVisible();
  await expect(page.getByRole("link", { name: "Add host" }).first()).toBeVisible();
  await expectAccessible(page);
  await context.storageState({ path: SESSION_FILE });
  expectNoErrors();
});

test("the link does not work twice, and the password does", async ({ page }) => {
  await page.goto(LOGIN_URL);
  await expect(page.getByText("This link was used or has expired.")).toBeVisible();
  await page.goto("/login");
  await page.getByLabel("Name").fill("admin");
  await page.getByRole("textbox", { name: "Password" }).fill("something else entirely");
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByText("Wrong name or password.")).toBeVisible();
  await page.getByRole("textbox", { name: "Password" }).fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("navigation", { name: "Main" })).toBeVisible();
});
