import { accessible, watchConsole } from "../support/check";
import { LOGIN_URL, PASSWORD, STATE } from "../support/platform";
import { expect, test } from "../support/test";

test("the printed link lets the first person in, once, and shows three doors", async ({ page, context }) => {
  const clean = watchConsole(page);
  expect(LOGIN_URL).toContain("/login#");
  await page.goto(LOGIN_URL);
  await page.getByLabel("New password").fill(PASSWORD);
  await page.getByLabel("The same again").fill(PASSWORD);
  await page.getByRole("button", { name: "Set password and go on" }).click();
  await expect(page.getByText("Capture this machine now")).toBeVisible();
  await expect(page.getByText("Open the recorded example")).toBeVisible();
  await expect(page.getByRole("link", { name: "Add a host" }).first()).toBeVisible();
  await accessible(page);
  await context.storageState({ path: STATE });
  clean();
});

test("the link does not work twice, and the password does", async ({ page }) => {
  await page.goto(LOGIN_URL);
  await expect(page.getByText("This link was used already or has expired.")).toBeVisible();
  await page.goto("/login");
  await page.getByLabel("Name").fill("admin");
  await page.getByRole("textbox", { name: "Password" }).fill("something else entirely");
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByText("The name or the password is wrong.")).toBeVisible();
  await page.getByRole("textbox", { name: "Password" }).fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("navigation", { name: "Main" })).toBeVisible();
});
