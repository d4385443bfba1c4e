// Enforces the direction of imports:  app > features > renderers > components > lib > core,
// client (generated) and i18n below lib. A feature never imports another feature, one file imports
// d3-flame-graph, and a new folder fails until its layer is decided here.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, normalize, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "../src");
const LAYERS = {
  testing: 7,
  app: 6,
  features: 5,
  renderers: 4,
  components: 3,
  lib: 2,
  client: 1,
  i18n: 1,
  core: 0,
};
const TOP_FILES = new Set(["test-setup.ts", "vite-env.d.ts"]);
const FLAME_OWNER = "renderers/flame/d3.ts";
const FORBIDDEN_NAMES = /(^|\/)(utils?|helpers?|common|manager|base)(\.|\/|$)/;

function files(dir) {
  return readdirSync(dir).flatMap((name) => {
    const path = join(dir, name);
    return statSync(path).isDirectory() ? files(path) : /\.(ts|tsx)$/.test(name) ? [path] : [];
  });
}

const problems = [];
for (const path of files(root)) {
  const rel = relative(root, path);
  if (TOP_FILES.has(rel)) continue;
  const [layer, room] = rel.split("/");
  if (!(layer in LAYERS)) {
    problems.push(`${rel}: folder "${layer}" has no layer in scripts/walls.mjs`);
    continue;
  }
  if (FORBIDDEN_NAMES.test(rel)) problems.push(`${rel}: a name that says nothing`);
  const text = readFileSync(path, "utf8");
  const imports = [...text.matchAll(/(?:from\s+|import\s*\(\s*|import\s+)["']([^"']+)["']/g)].map(
    (m) => m[1],
  );
  const isTest = /\.test\.tsx?$/.test(rel);
  for (const target of imports) {
    if (target === "d3-flame-graph" && rel !== FLAME_OWNER && !rel.endsWith(".d.ts"))
      problems.push(`${rel}: only ${FLAME_OWNER} may import d3-flame-graph`);
    if (!target.startsWith(".")) continue;
    const to = normalize(join(dirname(rel), target));
    if (to.startsWith("..")) {
      if (!((isTest || layer === "testing") && to.startsWith("../mock")))
        problems.push(`${rel}: imports outside src (${target})`);
      continue;
    }
    const [toLayer, toRoom] = to.split("/");
    if (!(toLayer in LAYERS)) {
      if (!isTest) problems.push(`${rel}: imports ${to}`);
      continue;
    }
    if (LAYERS[toLayer] > LAYERS[layer] && !(isTest && layer === "app" && toLayer === "testing"))
      problems.push(`${rel}: ${layer} may not import ${toLayer} (${target})`);
    if (layer === "features" && toLayer === "features" && room !== toRoom)
      problems.push(`${rel}: feature ${room} may not import feature ${toRoom}`);
  }
}
if (problems.length) {
  console.error(problems.join("\n"));
  process.exit(1);
}
console.log("import walls hold");
