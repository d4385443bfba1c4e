import { readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { describe, expect, it } from "vitest";

type Tree = { [key: string]: string | Tree };
type Texts = Map<string, string>;

const listFiles = (dir: string): string[] =>
  readdirSync(dir).flatMap((name) => {
    const path = join(dir, name);
    return statSync(path).isDirectory() ? listFiles(path) : [path];
  });

function flatten(tree: Tree, prefix = ""): Texts {
  const out: Texts = new Map();
  for (const [key, value] of Object.entries(tree)) {
    if (typeof value === "string") out.set(prefix + key, value);
    else for (const [inner, text] of flatten(value, `${prefix}${key}.`)) out.set(inner, text);
  }
  return out;
}

const read = (path: string): Texts => flatten(JSON.parse(readFileSync(path, "utf8")) as Tree);
const parameters = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map((m) => m[1]).sort();

const sources = listFiles(resolve("src"));
const folders = sources.filter((path) => path.endsWith("/i18n/en.json")).map((path) => dirname(path));
const pairs: [string, Texts, Texts, RegExp][] = folders.map((dir) => [
  dir.slice(resolve("src").length + 1),
  read(join(dir, "en.json")),
  read(join(dir, "zh.json")),
  /\{\{\s*(\w+)\s*\}\}/g,
]);
for (const group of ["events", "incidents", "runs", "requests"])
  pairs.push([
    `the server: ${group}`,
    read(`src/i18n/server.${group}.en.json`),
    read(`src/i18n/server.${group}.zh.json`),
    /\{(\w+)\}/g,
  ]);

describe.each(pairs)("the texts of %s", (_, english, chinese, pattern) => {
  it("have the same keys in both languages", () => {
    expect([...chinese.keys()].sort()).toEqual([...english.keys()].sort());
  });

  it("have the same parameters in both languages, and are not empty", () => {
    for (const [key, text] of english) {
      expect(text.trim(), key).not.toBe("");
      expect(parameters(chinese.get(key) ?? "", pattern), key).toEqual(parameters(text, pattern));
    }
  });
});

describe("the texts of the interface", () => {
  const keys = pairs
    .filter(([name]) => !name.startsWith("the server"))
    .flatMap(([, english]) => [...english.keys()]);
  const source = sources
    .filter((path) => /\.tsx?$/.test(path) && !path.includes(".test."))
    .map((path) => readFileSync(path, "utf8"))
    .join("\n");

  it("are defined once", () => {
    expect(keys.filter((key, index) => keys.indexOf(key) !== index)).toEqual([]);
  });

  it("are all used somewhere", () => {
    const unused = keys.filter((key) => {
      const bare = key.replace(/_(one|other)$/, "");
      const dynamic = bare.split(".").slice(0, -1).join(".");
      return (
        !source.includes(`"${bare}"`) &&
        !source.includes(`\`${dynamic}.\${`) &&
        !source.includes(`${dynamic.split(".")[0]}.\${`)
      );
    });
    expect(unused).toEqual([]);
  });
});

describe("the texts of a feature", () => {
  /** Loaded with every page, see startTexts.en.ts. */
  const START = ["features/sign-in", "features/kill-switch"];
  const isFeature = (folder: string) => folder.startsWith("features/") && !START.includes(folder);
  const folderOf = (path: string) =>
    path
      .slice(resolve("src").length + 1)
      .split("/", 2)
      .join("/");
  const owners = new Map(
    pairs.flatMap(([name, english]) =>
      [...english.keys()].map(
        (key) => [key.replace(/_(one|other)$/, ""), name.replace("/i18n", "")] as const,
      ),
    ),
  );

  it("are loaded with its pages, so only the palette uses those of other features", () => {
    const foreign = sources
      .filter(
        (path) => /\.tsx?$/.test(path) && !path.includes(".test.") && !path.endsWith("/app/Palette.tsx"),
      )
      .flatMap((path) =>
        [...readFileSync(path, "utf8").matchAll(/\bt\(\s*["`]([\w.]+?)(?:\.\$\{|["`])/g)].flatMap(
          ([, key = ""]) => {
            const owner =
              owners.get(key) ?? [...owners].find(([other]) => other.startsWith(`${key}.`))?.[1] ?? "";
            return isFeature(owner) && owner !== folderOf(path) ? [`${folderOf(path)}: ${key}`] : [];
          },
        ),
      );
    expect(foreign).toEqual([]);
  });
});
