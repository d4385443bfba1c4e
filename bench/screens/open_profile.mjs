// Opens the same profile here and in speedscope, and notes when each was painted. Started by bench/screens/open_profile.py.
import { createReadStream, existsSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";
import { launchBrowser, options, signIn, VIEW, waitForProfile } from "./profile_pages.mjs";

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".txt": "text/plain" };

/**
 * Runs in the page: milliseconds since the navigation when the drawing was painted, or null before. `ours` is the first
 * drawing, which comes before the application; `page` is the drawing of the application, with pointer and keys.
 */
function painted(side) {
  if (window.benchPainted) return window.benchPainted;
  const names = side === "ours" ? ["early-flame", "flame"] : ["flame"];
  const flame = document.querySelector(names.map((name) => `[data-testid="${name}"]`).join());
  const isReady =
    side === "theirs"
      ? /Left Heavy/.test(document.body?.textContent ?? "")
      : Number(flame?.dataset.frames) > 0 && flame.querySelector("svg, canvas");
  if (!window.benchWaits && isReady) {
    window.benchWaits = true;
    // A message sent in the frame's callback is delivered after that frame was laid out and painted.
    requestAnimationFrame(() => {
      const channel = new MessageChannel();
      channel.port1.onmessage = () => {
        window.benchPainted = performance.now();
      };
      channel.port2.postMessage(0);
    });
  }
  return null;
}

/** The files of speedscope and the profile, for the browser only. */
function serve(folder, profile) {
  const server = createServer((request, response) => {
    const name = decodeURIComponent(new URL(request.url, "http://localhost").pathname);
    const file = name === "/profile.txt" ? profile : path.join(folder, path.normalize(name));
    if (!existsSync(file)) return response.writeHead(404).end();
    response.writeHead(200, { "content-type": TYPES[path.extname(file)] ?? "application/octet-stream" });
    createReadStream(file).pipe(response);
  });
  return new Promise((done) => server.listen(0, "127.0.0.1", () => done(server)));
}

/** Open an address in a page of its own; the milliseconds until it was painted, and the memory of the page. */
async function open(context, url, side) {
  const page = await context.newPage();
  // Not until the page has loaded: a drawing may come before.
  await page.goto(url, { waitUntil: "commit" });
  const handle = await page.waitForFunction(painted, side, { polling: 20, timeout: 180_000 });
  const ms = await handle.jsonValue();
  const heap = await page.evaluate(() => performance.memory?.usedJSHeapSize ?? 0);
  await page.close();
  return { ms, heap };
}

const browser = await launchBrowser();
let server;
try {
  const context = await browser.newContext(VIEW);
  const page = await context.newPage();
  await signIn(page);
  const profile = await waitForProfile(page);
  const answer = await page.request.get(`${options.url}/api/v1/profiles/${profile.id}/export?format=folded`, {
    timeout: 120_000,
  });
  if (!answer.ok()) throw new Error(`the export was answered with ${answer.status()}`);
  const folded = await answer.body();
  writeFileSync(options.folded, folded);
  await page.close();
  server = await serve(options.speedscope, options.folded);
  const base = `http://127.0.0.1:${server.address().port}`;
  const ours = `${options.url}/profiles/${profile.id}`;
  const theirs = `${base}/index.html#profileURL=${encodeURIComponent(`${base}/profile.txt`)}&view=left-heavy`;
  const pairs = [];
  // The first pair is left out of the figures: the browser fills its cache, the server opens the profile.
  for (let n = -1; n < options.pairs; n += 1) {
    const pair = {
      ours: await open(context, ours, "ours"),
      theirs: await open(context, theirs, "theirs"),
      page: await open(context, ours, "page"),
    };
    if (n >= 0) pairs.push(pair);
  }
  console.log(JSON.stringify({ samples: profile.samples, folded: folded.length, pairs }));
} finally {
  server?.close();
  await browser.close();
}
