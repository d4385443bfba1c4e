import type { Page } from "@playwright/test";
import { expectAccessible, recordConsoleErrors } from "../support/check";
import { OUTPUT_DIR } from "../support/platform";
import { IdentityProvider, PROVIDER_NAME } from "../support/provider";
import { expect, test } from "../support/test";

test.use({ storageState: { cookies: [], origins: [] } });

let provider: IdentityProvider;
test.beforeAll(async () => {
  provider = await IdentityProvider.start();
});
test.afterAll(async () => {
  await provider?.end();
});

/** Watch the console and block HTTPS requests: the provider's pages load an external font; its errors are ignored. */
const watchPage = async (page: Page): Promise<() => void> => {
  await page.route(/^https:/, (route) => route.abort());
  return recordConsoleErrors(page, /status of 401|ERR_FAILED|ERR_NETWORK_CHANGED/);
};
const clickSignIn = (page: Page) =>
  page.getByRole("button", { name: `Sign in with ${PROVIDER_NAME}` }).click();
const mainNavigation = (page: Page) => page.getByRole("navigation", { name: "Main" });
const readRole = async (page: Page) =>
  ((await (await page.request.get("/api/v1/me")).json()) as { name: string; role: string }).role;

test("a user signs in at the provider, with the role of their group, and out of both", {
  tag: "@no-capture",
}, async ({ page }) => {
  const expectNoErrors = await watchPage(page);
  provider.groups({ lena: ["sre", "dev"] });
  await page.goto("/fleet");
  await expect(page).toHaveURL(/\/login/);
  await expectAccessible(page);
  await page.screenshot({ path: `${OUTPUT_DIR}/sign-in.png` });
  await clickSignIn(page);
  await provider.signIn(page, "lena");
  await expect(page).toHaveURL(/\/fleet/);
  await expect(mainNavigation(page)).toBeVisible();
  expect(await readRole(page)).toBe("oncall");
  await page.goto("/settings");
  await expect(page.getByText(/identity provider/i).first()).toBeVisible();
  await expect(page.getByLabel("New password")).toHaveCount(0);

  await page.getByRole("button", { name: "Account" }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.waitForURL((url) => url.origin === provider.issuer);
  await page.getByRole("button", { name: "Yes, sign me out" }).click();
  await expect(page).toHaveURL(/\/login/);
  expect((await page.request.get("/api/v1/me")).status()).toBe(401);

  provider.groups({ lena: ["dev"] });
  await clickSignIn(page);
  await provider.signIn(page, "lena");
  await expect(mainNavigation(page)).toBeVisible();
  expect(await readRole(page), "a group that is gone takes its role along").toBe("viewer");
  expectNoErrors();
});

test("a user whose groups have no role is refused with the reason", { tag: "@no-capture" }, async ({
  page,
}) => {
  const expectNoErrors = await watchPage(page);
  provider.groups({ mallory: ["guests"] });
  await page.goto("/login");
  await clickSignIn(page);
  await provider.signIn(page, "mallory");
  await expect(page).toHaveURL(/\/login/);
  await expect(
    page.getByText("None of your groups is mapped to a role. Ask an admin which group you need."),
  ).toBeVisible();
  await expectAccessible(page);
  await page.screenshot({ path: `${OUTPUT_DIR}/sign-in-refused.png` });
  expect((await page.request.get("/api/v1/me")).status()).toBe(401);
  expectNoErrors();
});

test("a user who cancels at the provider returns to the login page", { tag: "@no-capture" }, async ({
  page,
}) => {
  const expectNoErrors = await watchPage(page);
  await page.goto("/login");
  await clickSignIn(page);
  await page.waitForURL((url) => url.origin === provider.issuer);
  await page.getByRole("link", { name: /Cancel/ }).click();
  await expect(page).toHaveURL(/\/login/);
  await expect(page.getByRole("alert").first()).toBeVisible();
  expectNoErrors();
});
