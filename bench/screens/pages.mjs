// Opens each main page in a fresh browser context (cold) and again in the same one (warm), and measures in the page:
// time until it settles, requests, bytes, long tasks and DOM nodes. Started by bench/screens/pages.py.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const options = JSON.parse(process.env.BENCH);
const require = createRequire(`${options.e2e}/package.json`);
const { chromium } = require("@playwright/test");
const AXE = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const PASSWORD = "a long enough pass phrase";
/** A page has settled if nothing happened for this long; clocks on pages tick once a second. */
const QUIET_MS = 700;

/** Runs in the page before its own scripts: records the last change, response and long task. */
function observe() {
  performance.setResourceTimingBufferSize(5000);
  const seen = { last: 0, longTasks: [], nodes: 0 };
  window.benchSeen = seen;
  const note = () => {
    seen.last = performance.now();
  };
  new MutationObserver(note).observe(document, { childList: true, subtree: true, attributes: true });
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      seen.longTasks.push(entry.duration);
      seen.last = Math.max(seen.last, entry.startTime + entry.duration);
    }
  }).observe({ type: "longtask", buffered: true });
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries())
      if (!entry.name.endsWith("/events")) seen.last = Math.max(seen.last, entry.responseEnd);
  }).observe({ type: "resource", buffered: true });
}

/** Runs in the page: what it loaded and how large it is. Streams of events never end and do not count. */
function summarize() {
  const entries = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
  const loaded = entries.filter((entry) => !entry.name.endsWith("/events"));
  const sum = (list, field) => list.reduce((total, entry) => total + (entry[field] ?? 0), 0);
  const scripts = loaded.filter((entry) => /\.js(\?|$)/.test(entry.name));
  return {
    ms: window.benchSeen.last,
    requests: loaded.length,
    bytes: sum(loaded, "transferSize"),
    script_bytes: sum(scripts, "encodedBodySize"),
    longest_task_ms: Math.max(0, ...window.benchSeen.longTasks),
    nodes: document.querySelectorAll("*").length,
  };
}

const browser = await chromium.launch({
  executablePath: options.chromium,
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"],
});
process.on("SIGTERM", () => browser.close().finally(() => process.exit(143)));
const view = { viewport: { width: 1440, height: 900 }, locale: "en-GB" };
const progress = (text) => process.stderr.write(`${text}\n`);

/** Opens an address and waits until the page has settled. */
async function open(page, path) {
  await page.goto(`${options.url}${path}`, { waitUntil: "commit" });
  const isQuiet = (quiet) => window.benchSeen && performance.now() - window.benchSeen.last > quiet;
  await page.waitForFunction(isQuiet, QUIET_MS, { timeout: 60_000, polling: 100 });
  return page.evaluate(summarize);
}

/** A capture of this machine, a diagnosis, and an incident and a report of it; returns the paths of the main pages. */
async function prepare(page) {
  page.setDefaultTimeout(120_000);
  await page.goto(options.login_url);
  await page.getByLabel("New password").fill(PASSWORD);
  await page.getByLabel("Repeat password").fill(PASSWORD);
  await page.getByRole("button", { name: "Set password and continue" }).click();
  await page.getByRole("button", { name: "Capture now" }).click();
  await page.waitForURL(/\/captures\//);
  const capture = new URL(page.url()).pathname;
  const flame = page.getByRole("link", { name: /On-CPU flame graph/ }).first();
  await flame.waitFor();
  const profile = await flame.getAttribute("href");
  const run = await page.locator('a[href*="/runs/"]').first().getAttribute("href");
  const me = await (await page.request.get(`${options.url}/api/v1/me`)).json();
  const headers = { "X-CSRF-Token": me.csrf, Origin: options.url };
  const send = async (path, data) => {
    const answer = await page.request.post(`${options.url}/api/v1${path}`, { data, headers });
    if (!answer.ok()) throw new Error(`${path}: ${await answer.text()}`);
    return answer.json();
  };
  const host = me.this_host;
  const { id: diagnosis } = await send("/diagnoses", { host_id: host });
  for (let state = "running"; state === "running"; ) {
    await page.waitForTimeout(1000);
    ({ state } = await (await page.request.get(`${options.url}/api/v1/diagnoses/${diagnosis}`)).json());
  }
  const { id: incident } = await send("/incidents", { title: "Requests are slow", diagnosis_id: diagnosis });
  const path = (href) => new URL(href, options.url).pathname;
  return {
    Overview: "/",
    Incidents: "/incidents",
    Incident: `/incidents/${incident}`,
    Hosts: "/hosts",
    Host: `/hosts/${host}`,
    Fleet: "/fleet",
    Captures: "/captures",
    Capture: capture,
    Run: path(run),
    Diagnosis: `/diagnoses/${diagnosis}`,
    "Flame graph": new URL(profile, options.url).href.slice(options.url.length),
    "What changed": "/what-changed",
    Reports: `/incidents/${incident}/reports`,
  };
}

try {
  const first = await browser.newContext(view);
  const paths = await prepare(await first.newPage());
  const storageState = await first.storageState();
  await first.close();
  const pages = {};
  for (const [name, path] of Object.entries(paths)) {
    pages[name] = { cold: [], warm: [], axe: [] };
    for (let n = 0; n < options.opens; n += 1) {
      const context = await browser.newContext({ ...view, storageState });
      await context.addInitScript(observe);
      const page = await context.newPage();
      pages[name].cold.push(await open(page, path));
      pages[name].warm.push(await open(page, path));
      if (n === 0) {
        await page.evaluate(AXE);
        const { violations } = await page.evaluate(() => window.axe.run({ resultTypes: ["violations"] }));
        pages[name].axe = violations.map((violation) => `${violation.id} (${violation.impact})`);
      }
      await context.close();
    }
    progress(`${name}: ${path}`);
  }
  const context = await browser.newContext({ ...view, storageState });
  await context.addInitScript(observe);
  const page = await context.newPage();
  await open(page, paths.Incident);
  await page.evaluate(() => {
    window.benchSeen.longTasks.length = 0;
  });
  await page.keyboard.press("Control+k");
  await page.keyboard.type("what changed on this host", { delay: 80 });
  await page.waitForTimeout(500);
  const typing = await page.evaluate(() => Math.max(0, ...window.benchSeen.longTasks));
  console.log(JSON.stringify({ pages, typing }));
} finally {
  await browser.close();
}
