// The steps of a new user after `./culprit up`: the login link, one button, the flame graph. Prints the time of each
// step in milliseconds of the wall clock. Started by bench/screens/start.py.
import { createRequire } from "node:module";

const options = JSON.parse(process.env.BENCH);
const { chromium } = createRequire(`${options.e2e}/package.json`)("@playwright/test");
const marks = {};
const mark = (name) => {
  marks[name] = Date.now();
  process.stderr.write(`${name}\n`);
};

const browser = await chromium.launch({
  executablePath: options.chromium,
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"],
});
process.on("SIGTERM", () => browser.close().finally(() => process.exit(143)));
try {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 }, locale: "en-GB" });
  page.setDefaultTimeout(120_000);
  mark("browser");
  await page.goto(options.login_url);
  await page.getByLabel("New password").fill("a long enough pass phrase");
  await page.getByLabel("Repeat password").fill("a long enough pass phrase");
  await page.getByRole("button", { name: "Set password and continue" }).click();
  const now = page.getByRole("button", { name: "Capture now" });
  await now.waitFor();
  mark("logged_in");

  await now.click();
  await page.waitForURL(/\/captures\//);
  mark("pressed");
  await page.locator('a[href*="/runs/"]').first().click();
  await waitForFlameGraph(page);
  mark("capture_drawn");

  await page.goto(options.url);
  const example = page.getByRole("button", { name: "Open example recording" });
  await example.waitFor();
  mark("asked_for_example");
  await example.click();
  await page.waitForURL(/\/runs\//);
  await waitForFlameGraph(page);
  mark("example_drawn");
} finally {
  await browser.close();
}
console.log(JSON.stringify(marks));

/** From a run's page: its on-CPU flame graph as soon as there is one, until the first frames are painted. */
async function waitForFlameGraph(page) {
  await page.getByRole("link", { name: /On-CPU flame graph/ }).first().click();
  await page.getByTestId("flame").locator("g.frame rect").first().waitFor();
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
}
