// Draws trees with both renderers of the flame graph and notes when each was painted. Started by bench/screens/renderers.py.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

const options = JSON.parse(process.env.BENCH);
const { chromium } = createRequire(`${options.e2e}/package.json`)("@playwright/test");
const { build } = await import(`${options.frontend}/node_modules/vite/dist/node/index.js`);

const top = mkdtempSync(join(tmpdir(), "renderers-"));
writeFileSync(
  join(top, "entry.ts"),
  `import { drawFlame } from "${options.frontend}/src/widgets/flame-graph/d3";
   import { drawFlameCanvas } from "${options.frontend}/src/widgets/flame-graph/canvas";
   import { frameFill } from "${options.frontend}/src/core/profiles/flame";
   Object.assign(window, { draw: { d3: drawFlame, canvas: drawFlameCanvas }, frameFill });`,
);

/** Runs in the page: a tree of `count` frames that are all at least a pixel wide, in any shape that a seed gives. */
function makeTree(count, width) {
  let seed = 7;
  const random = () => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return seed / 2 ** 32;
  };
  let id = 0;
  const make = (value) => ({
    id: id++,
    name: `function_${Math.floor(random() * 900)}`,
    value,
    self: 0,
    kind: random() < 0.3 ? "kernel" : "user",
    children: [],
  });
  const root = make(width * 1000);
  let level = [root];
  while (id < count && level.length > 0) {
    const next = [];
    for (const node of level) {
      const pieces = node.value > 6000 && next.length < width / 4 ? 1 + Math.floor(random() * 3) : 1;
      let left = node.value;
      for (let at = 0; at < pieces && id < count; at += 1) {
        const value = at === pieces - 1 ? left : Math.max(1200, Math.floor(left * (0.2 + random() * 0.6)));
        if (value > left || value < 1100) break;
        const child = make(value);
        node.children.push(child);
        next.push(child);
        left -= value;
      }
    }
    level = next;
  }
  return { tree: root, frames: id };
}

/** Runs in the page: one redraw as the component does it, to the painted frame, in ms. */
async function measure({ renderer, frames, rounds, width, makeTreeText }) {
  const makeTree = new Function(`return (${makeTreeText})`)();
  const { tree } = makeTree(frames, width);
  const element = document.getElementById("flame");
  const painted = () =>
    new Promise((done) =>
      requestAnimationFrame(() => {
        const channel = new MessageChannel();
        channel.port1.onmessage = () => done(performance.now());
        channel.port2.postMessage(0);
      }),
    );
  const settings = (matches) => ({
    width,
    inverted: false,
    fill: (node) =>
      matches
        ? node.id % 17 === 0
          ? "#b14cf0"
          : "#e3e6ea"
        : window.frameFill(node.kind, node.name, "light"),
    label: (node) => node.name,
    title: (node) => node.name,
    onPick: () => undefined,
    onHover: () => undefined,
  });
  const times = { zoom: [], search: [] };
  let drawing = window.draw[renderer](element, tree, settings(false));
  await painted();
  for (let n = 0; n < rounds; n += 1)
    for (const what of ["zoom", "search"]) {
      const began = performance.now();
      drawing.destroy();
      drawing = window.draw[renderer](element, tree, settings(what === "search"));
      times[what].push((await painted()) - began);
    }
  drawing.destroy();
  return times;
}

let browser;
try {
  await build({
    configFile: false,
    root: options.frontend,
    logLevel: "error",
    build: {
      outDir: join(top, "out"),
      lib: { entry: join(top, "entry.ts"), formats: ["iife"], name: "bench", fileName: "bench" },
    },
  });
  browser = await chromium.launch({
    executablePath: options.chromium,
    args: ["--no-sandbox", "--disable-gpu"],
  });
  process.on("SIGTERM", () => browser.close().finally(() => process.exit(143)));
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  await page.setContent(
    '<div style="height:650px;overflow-y:auto;width:1400px"><div id="flame"></div></div>',
  );
  await page.addScriptTag({ content: readFileSync(join(top, "out", "bench.iife.js"), "utf8") });
  const results = [];
  for (const frames of options.frames)
    for (const renderer of ["d3", "canvas"]) {
      const request = {
        renderer,
        frames,
        rounds: options.rounds,
        width: 1400,
        makeTreeText: makeTree.toString(),
      };
      results.push({ renderer, frames, ...(await page.evaluate(measure, request)) });
    }
  console.log(JSON.stringify({ results }));
} finally {
  await browser?.close();
  rmSync(top, { recursive: true, force: true });
}
