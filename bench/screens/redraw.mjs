// Drags ranges on the time strip of a profile and notes in the page when each was drawn. Started by bench/screens/redraw.py.
import { createRequire } from "node:module";

const options = JSON.parse(process.env.BENCH);
const { chromium } = createRequire(`${options.e2e}/package.json`)("@playwright/test");

/** Runs in the page before its own scripts: keeps, for the last release of the pointer, what followed. */
function watch() {
  // The browser keeps 250 entries unless it is configured to keep more.
  performance.setResourceTimingBufferSize(5000);
  const last = { released: 0, answered: 0, painted: 0, draws: 0 };
  window.benchLast = last;
  const fetched = window.fetch;
  window.fetch = async (...request) => {
    const url = request[0] instanceof Request ? request[0].url : String(request[0]);
    const answer = await fetched(...request);
    if (/\/profiles\/[^/]+\/tree/.test(url) && last.released) last.answered = performance.now();
    return answer;
  };
  window.addEventListener(
    "pointerup",
    () => Object.assign(last, { released: performance.now(), answered: 0, painted: 0, draws: 0 }),
    true,
  );
  new MutationObserver((changes) => {
    if (!last.answered) return;
    const drew = changes.some(
      (change) =>
        change.target instanceof Element && change.addedNodes.length > 0 && change.target.closest('[data-testid="flame"]'),
    );
    if (!drew) return;
    last.draws += 1;
    // A message sent in the frame's callback is delivered after that frame was laid out and painted.
    requestAnimationFrame(() => {
      const channel = new MessageChannel();
      channel.port1.onmessage = () => {
        last.painted = performance.now();
      };
      channel.port2.postMessage(0);
    });
  }).observe(document, { subtree: true, childList: true });
}

/** What followed the last release, in ms, with the request's own timing; null until the drawing is at rest. */
function followed(restMs) {
  const last = window.benchLast;
  if (!last.painted || performance.now() - last.painted < restMs) return null;
  const entry = performance
    .getEntriesByType("resource")
    .filter((entry) => /\/profiles\/[^/]+\/tree/.test(entry.name) && entry.startTime >= last.released)
    .at(-1);
  if (!entry) return null;
  return {
    total: last.painted - last.released,
    before: entry.requestStart - last.released,
    server: entry.responseStart - entry.requestStart,
    transfer: entry.responseEnd - entry.responseStart,
    draw: last.painted - entry.responseEnd,
    bytes: entry.decodedBodySize,
    frames: Number(document.querySelector('[data-testid="flame"]')?.dataset.frames),
    draws: last.draws,
  };
}

/** The same ranges in every run. */
let seed = 12345;
const random = () => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
  return seed / 2 ** 32;
};

const browser = await chromium.launch({
  executablePath: options.chromium,
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"],
});
process.on("SIGTERM", () => browser.close().finally(() => process.exit(143)));
const brushes = [];
try {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 }, locale: "en-GB" });
  page.setDefaultTimeout(60_000);
  await page.addInitScript(watch);
  await page.goto(options.login_url);
  await page.getByLabel("New password").fill("a long enough pass phrase");
  await page.getByLabel("Repeat password").fill("a long enough pass phrase");
  await page.getByRole("button", { name: "Set password and continue" }).click();
  await page.getByRole("navigation", { name: "Main" }).waitFor();
  const profile = await built(page);
  const ready = Date.now();
  await page.goto(`${options.url}/profiles/${profile.id}`);
  await page.locator('[data-testid="flame"] :is(svg, canvas)').first().waitFor();
  await page.waitForLoadState("networkidle");
  const box = await page.getByTestId("heat").boundingBox();
  // The first few are left out of the figures: the browser compiles, the server opens the profile.
  for (let n = -options.warm; n < options.brushes; n += 1) {
    let [from, to] = [random(), random()].sort((a, b) => a - b);
    if (to - from < 0.01) to = from < 0.5 ? from + 0.01 : to;
    if (to - from < 0.01) from = to - 0.01;
    await page.mouse.move(box.x + 1 + (box.width - 2) * from, box.y + 10);
    await page.mouse.down();
    await page.mouse.move(box.x + 1 + (box.width - 2) * to, box.y + 10, { steps: 5 });
    await page.mouse.up();
    try {
      const brush = await page.waitForFunction(followed, 150, { polling: 50, timeout: 20_000 });
      if (n >= 0) brushes.push(await brush.jsonValue());
    } catch (error) {
      process.stderr.write(`brush ${n}: ${page.url()} ${JSON.stringify(await page.evaluate("benchLast"))}\n`);
      throw error;
    }
  }
  console.log(JSON.stringify({ samples: profile.samples, ready, brushes }));
} finally {
  await browser.close();
}

/** The imported profile, as soon as a task has built it. */
async function built(page) {
  for (const end = Date.now() + 180_000; Date.now() < end; ) {
    const answer = await page.request.get(`${options.url}/api/v1/profiles?run=${options.run}`);
    const [profile] = (await answer.json()).items;
    if (profile?.state === "ready") return profile;
    if (profile && !["queued", "running"].includes(profile.state)) throw new Error(JSON.stringify(profile));
    await new Promise((done) => setTimeout(done, 500));
  }
  throw new Error("the profile was not built in three minutes");
}
