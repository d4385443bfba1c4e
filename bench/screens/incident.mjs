// Opens an incident again and again, notes in the page when each part of it was drawn and when the next step reacts, and
// then asks every call of the screen many times over. Started by bench/screens/incident_screen.py.
import { createRequire } from "node:module";

const options = JSON.parse(process.env.BENCH);
const { chromium } = createRequire(`${options.e2e}/package.json`)("@playwright/test");

/** Runs in the page before its own scripts: milliseconds since the navigation began, once what is named was painted. */
function watch() {
  if (!location.pathname.startsWith("/incidents/")) return;
  performance.setResourceTimingBufferSize(5000);
  const seen = {};
  window.benchSeen = seen;
  const answered = (what) =>
    performance.getEntriesByType("resource").some((entry) => what.test(entry.name) && entry.responseEnd > 0);
  const within = (pane, what) => document.querySelector(`section[aria-label="${pane}"] ${what}`);
  const parts = {
    chain: () => within("Evidence chain", 'button[id^="step-"]'),
    evidence: () => within("Evidence", "[data-look]"),
    timeline: () => within("Timeline", "[data-row] canvas") && answered(/\/timeline\?/),
  };
  // A message sent in the frame's callback is delivered after that frame was laid out and painted.
  const painted = (name) =>
    requestAnimationFrame(() => {
      const channel = new MessageChannel();
      channel.port1.onmessage = () => {
        seen[name] = performance.now();
      };
      channel.port2.postMessage(0);
    });
  const noted = new Set();
  const note = (name) => {
    noted.add(name);
    painted(name);
  };
  const look = () => {
    for (const [name, is] of Object.entries(parts)) if (!noted.has(name) && is()) note(name);
    if (!Object.keys(parts).every((name) => seen[name])) requestAnimationFrame(look);
    else {
      document.documentElement.dispatchEvent(
        new KeyboardEvent("keydown", { key: "n", code: "KeyN", bubbles: true, cancelable: true }),
      );
      requestAnimationFrame(react);
    }
  };
  const react = () => {
    const at = document.activeElement;
    if (at?.tagName === "BUTTON" && at.closest('section[aria-label="Next step"]')) note("reacts");
    else requestAnimationFrame(react);
  };
  requestAnimationFrame(look);
}

const browser = await chromium.launch({
  executablePath: options.chromium,
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"],
});
process.on("SIGTERM", () => browser.close().finally(() => process.exit(143)));
const view = { viewport: { width: 1440, height: 900 }, locale: "en-GB" };
try {
  const context = await browser.newContext(view);
  const first = await context.newPage();
  first.setDefaultTimeout(60_000);
  await first.goto(options.login_url);
  await first.getByLabel("New password").fill("a long enough pass phrase");
  await first.getByLabel("Repeat password").fill("a long enough pass phrase");
  await first.getByRole("button", { name: "Set password and continue" }).click();
  await first.getByRole("navigation", { name: "Main" }).waitFor();
  const storageState = await context.storageState();
  await context.close();

  const opens = { cold: [], warm: [] };
  let calls = [];
  for (let n = 0; n < options.opens; n += 1) {
    // A browser that was never here, then the same one again.
    const fresh = await browser.newContext({ ...view, storageState });
    await fresh.addInitScript(watch);
    const page = await fresh.newPage();
    for (const how of ["cold", "warm"]) {
      await page.goto(`${options.url}/incidents/${options.incident}`, { waitUntil: "commit" });
      const seen = await page.waitForFunction(() => window.benchSeen?.reacts && window.benchSeen, null, {
        timeout: 60_000,
      });
      opens[how].push(await seen.jsonValue());
      calls = await page.evaluate(() =>
        performance
          .getEntriesByType("resource")
          .filter((entry) => entry.name.includes("/api/") && !entry.name.endsWith("/events"))
          .map((entry) => entry.name),
      );
    }
    if (n + 1 < options.opens) await fresh.close();
    else {
      const times = await page.evaluate(ask, [[...new Set(calls)], options.asks]);
      console.log(JSON.stringify({ opens, calls: times }));
    }
  }
} finally {
  await browser.close();
}

/** Each call so many times, one after the other: milliseconds to its last byte, and its size on the wire and unpacked. */
async function ask([urls, times]) {
  const out = {};
  for (const url of urls) {
    const taken = [];
    for (let n = 0; n < times; n += 1) {
      const began = performance.now();
      const answer = await fetch(url);
      await answer.arrayBuffer();
      taken.push(performance.now() - began);
    }
    const last = performance.getEntriesByName(url).at(-1);
    out[url] = { ms: taken, wire: last?.encodedBodySize ?? 0, bytes: last?.decodedBodySize ?? 0 };
  }
  return out;
}
