import { pathToFileURL } from "node:url";
import { expectAccessible, recordConsoleErrors } from "../support/check";
import {
  getLocalHost,
  OUTPUT_DIR,
  PASSWORD,
  postAsUser,
  reauthenticate,
  runCulprit,
} from "../support/platform";
import { expect, retryAbortedLoads, test } from "../support/test";

/**
 * Title with HTML. The test writes a report of an incident, previews, freezes and approves it as a second user, shares
 * it, opens its HTML file without a network, and revokes the share link.
 */
const HOSTILE = "</script><img src=x onerror=alert(1)>";

test("a report is frozen, approved, and read without an account and without a network", {
  tag: "@no-capture",
}, async ({ page, browser }) => {
  test.setTimeout(180_000);
  const expectNoErrors = recordConsoleErrors(page);
  const host = getLocalHost();
  const incident = JSON.parse(
    runCulprit("incident", "create", `slow ${HOSTILE}`, "--host", host.name, "--json"),
  ) as { id: string };

  await page.goto(`/incidents/${incident.id}`);
  await page.getByRole("link", { name: "Report", exact: true }).click();
  await page.getByRole("button", { name: "Create report" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Create report" }).click();
  await page.getByLabel(/^Summary/).fill(`${host.name} was slow: password=hunter2 ${HOSTILE}`);
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByRole("button", { name: "Save", exact: true })).toBeDisabled();
  await page.getByRole("button", { name: "Preview redaction" }).click();
  await expect(page.getByRole("region", { name: "Replacements" })).toContainText("hunter2");
  await page.getByRole("button", { name: "Freeze version" }).click();
  const version = page.getByRole("article", { name: "Version 1" });
  await expect(version).toContainText("not approved");
  await expectAccessible(page);

  const name = `second-${Date.now()}`;
  await reauthenticate(page);
  const { login_link } = await postAsUser(page, "/users", { name, role: "oncall" });
  const second = await browser.newContext({ storageState: { cookies: [], origins: [] } });
  const other = retryAbortedLoads(await second.newPage());
  await other.goto(String(login_link));
  await other.getByLabel("New password").fill(PASSWORD);
  await other.getByLabel("Repeat password").fill(PASSWORD);
  await other.getByRole("button", { name: "Set password and continue" }).click();
  await other.waitForURL((url) => !url.pathname.startsWith("/login"));
  await other.goto(new globalThis.URL(page.url()).pathname);
  await other.getByRole("article", { name: "Version 1" }).getByRole("button", { name: "Approve" }).click();
  await expect(other.getByText(`approved by ${name}`)).toBeVisible();
  await second.close();

  await page.reload();
  await version.getByRole("button", { name: "Share" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Create link" }).click();
  const link = await page
    .getByRole("dialog")
    .getByText(/\/r\/[\w-]{43}$/)
    .textContent();
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).last().click();
  const [kept] = await Promise.all([
    page.waitForEvent("download"),
    version.getByRole("link", { name: "HTML" }).click(),
  ]);
  await kept.saveAs(`${OUTPUT_DIR}/report.html`);
  expectNoErrors();

  const stranger = await browser.newContext({ storageState: { cookies: [], origins: [] } });
  const shared = retryAbortedLoads(await stranger.newPage());
  const troubles: string[] = [];
  shared.on("console", (message) => message.type() === "error" && troubles.push(message.text()));
  const path = new globalThis.URL(String(link)).pathname;
  await shared.goto(path);
  await expect(shared.getByRole("heading", { level: 1 })).toContainText("slow </script>");
  await expect(shared.locator("body")).not.toContainText("hunter2");
  await expect(shared.locator("body")).not.toContainText(host.name);
  expect(await shared.locator("img").count()).toBe(0);
  // Shared pages forbid all scripts, including those of Playwright and axe, so a copy of the page is checked.
  expect(troubles.filter((text) => !text.includes("'allow-scripts' permission is not set"))).toEqual([]);
  const mirror = await stranger.newPage();
  await mirror.setContent(await (await stranger.request.get(path)).text());
  await expectAccessible(mirror);

  await stranger.setOffline(true);
  const requestedUrls: string[] = [];
  const file = await stranger.newPage();
  const quiet = recordConsoleErrors(file);
  file.on("request", (request) => requestedUrls.push(request.url()));
  await file.goto(pathToFileURL(`${OUTPUT_DIR}/report.html`).href);
  await expect(file.getByRole("heading", { name: "Evidence chain" })).toBeVisible();
  expect(requestedUrls.filter((url) => !url.startsWith("file:"))).toEqual([]);
  quiet();
  await stranger.close();

  await page.getByRole("button", { name: "Revoke link" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke link" }).click();
  await expect(page.getByRole("region", { name: "Links" })).toContainText("revoked");
  expect((await page.request.get(path)).status()).toBe(404);
});
