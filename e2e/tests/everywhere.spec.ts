import { accessible, fitsSideways, watchConsole } from "../support/check";
import { prove, thisHost } from "../support/platform";
import { expect, steady, test } from "../support/test";

const host = thisHost();
const SCREENS = [
  ["start", "/"],
  ["hosts", "/hosts"],
  ["add host", "/hosts/new"],
  ["host", `/hosts/${host.id}`],
  ["incidents", "/incidents"],
  ["a new incident", "/incidents?dialog=incident"],
  ["fleet", "/fleet"],
  ["fleet, peers", "/fleet?view=peers"],
  ["fleet, findings", "/fleet?view=findings"],
  ["where am I", `/hosts/${host.id}?fold=where`],
  ["what changed on a host", `/hosts/${host.id}?fold=changed`],
  ["events", "/events"],
  ["an event to tell", "/events?act=add"],
  ["captures", "/captures"],
  ["import", "/captures?dialog=import"],
  ["schedules", "/schedules"],
  ["a new schedule", "/schedules?act=add"],
  ["on call", "/oncall"],
  ["a new rotation", "/oncall?act=add"],
  ["triggers", "/triggers"],
  ["a new trigger", "/triggers?add=1"],
  ["alerts", "/triggers?part=alerts"],
  ["channels", "/triggers?part=channels"],
  ["messages", "/triggers?part=notices"],
  ["profiles", "/profiles"],
  ["playbooks", "/playbooks"],
  ["one playbook", "/playbooks?playbook=thread-oversubscription"],
  ["a playbook of one's own", "/playbooks?own=1"],
  ["compare", "/compare"],
  ["users", "/settings/users"],
  ["tokens", "/settings/tokens"],
  ["credentials", "/settings/credentials"],
  ["networks", "/settings/networks"],
  ["audit", "/settings/audit"],
] as const;

for (const [name, path] of SCREENS)
  test(`${name}: accessible, and nothing sticks out on a narrow screen, dark and light, in both languages`, async ({
    page,
  }) => {
    const clean = watchConsole(page);
    await page.goto(path);
    await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
    await page.waitForLoadState("networkidle");
    await accessible(page);
    await page.emulateMedia({ colorScheme: "light" });
    await accessible(page);
    await page.setViewportSize({ width: 390, height: 844 });
    await fitsSideways(page);
    await page.evaluate(() =>
      localStorage.setItem("culprit.prefs", JSON.stringify({ locale: "zh", zone: "utc" })),
    );
    await page.reload();
    await expect(page.locator("html")).toHaveAttribute("lang", "zh-CN");
    await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
    await fitsSideways(page);
    clean();
  });

test("what does not exist says so", async ({ page }) => {
  await page.goto("/hosts/00000000-0000-7000-8000-000000000000");
  await expect(page.getByText("There is no such host, or you may not see it.").first()).toBeVisible();
  await page.goto("/nowhere");
  await expect(page.getByText("There is nothing at this address")).toBeVisible();
});

test("a viewer looks, and is offered nothing that touches a host", async ({ page, browser }) => {
  await prove(page);
  await page.goto("/settings/users");
  const name = `viewer-${Date.now()}`;
  await page.getByRole("textbox", { name: "Name" }).fill(name);
  await page.getByRole("combobox", { name: "Role", exact: true }).first().click();
  await page.getByRole("option", { name: "viewer", exact: true }).click();
  await page.getByRole("button", { name: "Add a user" }).click();
  const link = await page.locator("code", { hasText: /login#/ }).innerText();
  const other = await browser.newContext({ storageState: { cookies: [], origins: [] } });
  const visitor = steady(await other.newPage());
  await visitor.goto(new URL(link.trim(), page.url()).href);
  await visitor.getByLabel("New password").fill("another long pass phrase");
  await visitor.getByLabel("The same again").fill("another long pass phrase");
  await visitor.getByRole("button", { name: "Set password and go on" }).click();
  await expect(visitor.getByRole("navigation", { name: "Main" })).toBeVisible();
  await visitor.goto(new URL(`/hosts/${host.id}`, page.url()).href);
  await expect(visitor.getByRole("heading", { name: host.name })).toBeVisible();
  await expect(visitor.getByRole("button", { name: "Make this machine busy for 20 s" })).toHaveCount(0);
  const answer = await visitor.request.post("/api/v1/captures", {
    data: { host_ids: [host.id], plan: "triage" },
  });
  expect([401, 403]).toContain(answer.status());
  await other.close();
});

test("from anywhere to anywhere by typing", async ({ page }) => {
  await page.goto("/settings/users");
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  await page.keyboard.press("Control+k");
  await page.getByRole("textbox", { name: /palette|search/i }).fill(host.name);
  // An imported host may have the same name, and stands below.
  await expect(page.getByRole("button", { name: new RegExp(host.name) }).first()).toContainText("127.0.0.1");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(new RegExp(`/hosts/${host.id}`));
  await page.keyboard.press("Control+k");
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);
});
