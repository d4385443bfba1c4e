import { globSync, readFileSync } from "node:fs";
import { COLOR_RULES, expectAccessible, expectNoSidewaysScroll, recordConsoleErrors } from "../support/check";
import { getLocalHost, REPOSITORY_DIR, reauthenticate } from "../support/platform";
import { expect, retryAbortedLoads, test } from "../support/test";

const host = getLocalHost();
/** All paths of the navigation and of commands, parsed from the manifests of the features. */
const PATHS = new Set(
  globSync(`${REPOSITORY_DIR}/frontend/src/features/*/manifest.ts`).flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(/\bto: "([^"]+)"/g)].map(([, path]) => path as string),
  ),
);
if (!PATHS.has("/hosts")) throw new Error("the manifests of the features have no address of the hosts");
/** Names and URLs of all tested screens, including views with parameters and dialogs. */
const TESTED_SCREENS: [string, string][] = [
  ...[...PATHS].map((path): [string, string] => [path, path]),
  ["start", "/"],
  ["host", `/hosts/${host.id}`],
  ["a new incident", "/incidents?dialog=incident"],
  ["fleet, peers", "/fleet?view=peers"],
  ["fleet, findings", "/fleet?view=findings"],
  ["host context", `/hosts/${host.id}?fold=context`],
  ["what changed on a host", `/hosts/${host.id}?fold=changed`],
  ["report event", "/events?dialog=add"],
  ["import", "/captures?dialog=import"],
  ["a new schedule", "/schedules?dialog=add"],
  ["a new rotation", "/oncall?dialog=add"],
  ["a new trigger", "/triggers?add=1"],
  ["alerts", "/triggers?part=alerts"],
  ["messages", "/notifications?part=notifications"],
  ["one playbook", "/playbooks?playbook=thread-oversubscription"],
  ["the custom playbook form", "/playbooks?custom=1"],
  ["compare", "/compare"],
  ["users", "/settings/users"],
  ["tokens", "/settings/tokens"],
  ["credentials", "/settings/credentials"],
  ["networks", "/settings/networks"],
  ["audit", "/settings/audit"],
];

for (const [name, path] of TESTED_SCREENS)
  test(`${name}: accessible, and fits on a narrow screen, dark and light, in both languages`, async ({
    page,
  }) => {
    const expectNoErrors = recordConsoleErrors(page);
    await page.goto(path);
    await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
    await page.waitForLoadState("networkidle");
    await expectAccessible(page);
    await page.emulateMedia({ colorScheme: "light" });
    await expectAccessible(page, COLOR_RULES);
    await page.setViewportSize({ width: 390, height: 844 });
    await expectNoSidewaysScroll(page);
    // Dispatch the event instead of a click, because a dialog may cover the button.
    await page.getByRole("button", { name: "中文", includeHidden: true }).dispatchEvent("click");
    await expect(page.locator("html")).toHaveAttribute("lang", "zh-CN");
    await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
    await expectNoSidewaysScroll(page);
    expectNoErrors();
  });

test("the language is kept when the page is loaded again", async ({ page }) => {
  await page.goto("/hosts");
  await page.getByRole("button", { name: "中文" }).click();
  await expect(page.locator("html")).toHaveAttribute("lang", "zh-CN");
  const heading = await page.getByRole("heading", { level: 1 }).innerText();
  await page.reload();
  await expect(page.locator("html")).toHaveAttribute("lang", "zh-CN");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(heading);
});

test("a missing page has an error message", async ({ page }) => {
  await page.goto("/hosts/00000000-0000-7000-8000-000000000000");
  await expect(page.getByText("Host not found, or you have no access to it.").first()).toBeVisible();
  await page.goto("/nowhere");
  await expect(page.getByRole("heading", { name: "Page not found" })).toBeVisible();
});

test("a viewer sees pages without any action on a host", async ({ page, browser }) => {
  await reauthenticate(page);
  await page.goto("/settings/users");
  const name = `viewer-${Date.now()}`;
  await page.getByRole("textbox", { name: "Name" }).fill(name);
  await page.getByRole("combobox", { name: "Role", exact: true }).first().click();
  await page.getByRole("option", { name: "viewer", exact: true }).click();
  await page.getByRole("button", { name: "Add user" }).click();
  const link = await page.locator("code", { hasText: /login#/ }).innerText();
  const other = await browser.newContext({ storageState: { cookies: [], origins: [] } });
  const visitor = retryAbortedLoads(await other.newPage());
  await visitor.goto(new URL(link.trim(), page.url()).href);
  await visitor.getByLabel("New password").fill("another long pass phrase");
  await visitor.getByLabel("Repeat password").fill("another long pass phrase");
  await visitor.getByRole("button", { name: "Set password and continue" }).click();
  await expect(visitor.getByRole("navigation", { name: "Main" })).toBeVisible();
  await visitor.goto(new URL(`/hosts/${host.id}`, page.url()).href);
  await expect(visitor.getByRole("heading", { name: host.name, exact: true })).toBeVisible();
  await expect(visitor.getByRole("button", { name: "Run demo load for 20 s" })).toHaveCount(0);
  const answer = await visitor.request.post("/api/v1/captures", {
    data: { host_ids: [host.id], plan: "triage" },
  });
  expect([401, 403]).toContain(answer.status());
  await other.close();
});

test("the command palette opens any page by typing", async ({ page }) => {
  await page.goto("/settings/users");
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await page.keyboard.press("Control+k");
  await page.getByRole("textbox", { name: /palette|search/i }).fill(host.name);
  // An imported host may have the same name, and is listed below.
  await expect(page.getByRole("button", { name: new RegExp(host.name) }).first()).toContainText("127.0.0.1");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(new RegExp(`/hosts/${host.id}`));
  await page.keyboard.press("Control+k");
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);
});
