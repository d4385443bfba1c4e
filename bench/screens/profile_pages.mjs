// Shared code of the benchmarks of the profile page: the browser, the first sign-in, and waiting for a profile.
import { createRequire } from "node:module";

const BUILD_MS = 300_000;

export const options = JSON.parse(process.env.BENCH);

const { chromium } = createRequire(`${options.e2e}/package.json`)("@playwright/test");

export const VIEW = { viewport: { width: 1440, height: 900 }, locale: "en-GB" };

/** Start Chromium; it ends with this process. */
export async function launchBrowser() {
  const browser = await chromium.launch({
    executablePath: options.chromium,
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"],
  });
  process.on("SIGTERM", () => browser.close().finally(() => process.exit(143)));
  return browser;
}

/** Sign in as the first account does, by its link. */
export async function signIn(page) {
  await page.goto(options.login_url);
  await page.getByLabel("New password").fill("a long enough pass phrase");
  await page.getByLabel("Repeat password").fill("a long enough pass phrase");
  await page.getByRole("button", { name: "Set password and continue" }).click();
  await page.getByRole("navigation", { name: "Main" }).waitFor();
}

/** The imported profile, as soon as a task has built it. */
export async function waitForProfile(page) {
  for (const end = Date.now() + BUILD_MS; Date.now() < end; ) {
    const answer = await page.request.get(`${options.url}/api/v1/profiles?run=${options.run}`);
    const [profile] = (await answer.json()).items;
    if (profile?.state === "ready") return profile;
    if (profile && !["queued", "running"].includes(profile.state)) throw new Error(JSON.stringify(profile));
    await new Promise((done) => setTimeout(done, 500));
  }
  throw new Error(`the profile was not built in ${BUILD_MS / 1000} s`);
}

/** The process of a page, by its largest renderer: its memory in bytes, shared parts divided among those that share. */
export async function readPageMemory(browser, read) {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  const sizes = processInfo.filter(({ type }) => type === "renderer").map(({ id }) => read(id));
  return Math.max(0, ...sizes);
}
