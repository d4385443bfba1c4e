// Drags ranges on the time strip of a profile and notes in the page when each was drawn. Started by bench/screens/redraw.py.
import { readFileSync } from "node:fs";
import { launchBrowser, options, readPageMemory, signIn, VIEW, waitForProfile } from "./profile_pages.mjs";

/** Runs in the page before its own scripts: records the events after the last release of the pointer. */
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

/** Returns the times after the last release in ms, with the timing of the request; null until painting has ended. */
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

const browser = await launchBrowser();
const brushes = [];
try {
  const page = await browser.newPage(VIEW);
  page.setDefaultTimeout(60_000);
  await page.addInitScript(watch);
  await signIn(page);
  const profile = await waitForProfile(page);
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
  const memory = await readPageMemory(browser, (pid) => {
    const [, kib] = /^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"));
    return Number(kib) * 1024;
  });
  console.log(JSON.stringify({ samples: profile.samples, ready, memory, brushes }));
} finally {
  await browser.close();
}
