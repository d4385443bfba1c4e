import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import en from "./en.json";
import serverEn from "./server.en.json";
import serverZh from "./server.zh.json";
import zh from "./zh.json";

type Tree = { [key: string]: string | Tree };

function flat(tree: Tree, prefix = ""): Map<string, string> {
  const out = new Map<string, string>();
  for (const [key, value] of Object.entries(tree)) {
    if (typeof value === "string") out.set(prefix + key, value);
    else for (const [inner, text] of flat(value, `${prefix}${key}.`)) out.set(inner, text);
  }
  return out;
}

const places = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map((m) => m[1]).sort();

describe.each([
  ["the interface", flat(en as Tree), flat(zh as Tree), /\{\{\s*(\w+)\s*\}\}/g],
  ["the server", flat(serverEn as Tree), flat(serverZh as Tree), /\{(\w+)\}/g],
] as const)("the texts of %s", (_, first, second, pattern) => {
  it("have the same keys in both languages", () => {
    expect([...second.keys()].sort()).toEqual([...first.keys()].sort());
  });

  it("have the same places in both languages, and are not empty", () => {
    for (const [key, text] of first) {
      expect(text.trim(), key).not.toBe("");
      expect(places(second.get(key) ?? "", pattern), key).toEqual(places(text, pattern));
    }
  });
});

describe("the texts of the interface", () => {
  const files = (dir: string): string[] =>
    readdirSync(dir).flatMap((name) => {
      const path = join(dir, name);
      if (statSync(path).isDirectory()) return files(path);
      return /\.tsx?$/.test(name) && !name.includes(".test.") ? [path] : [];
    });
  const source = files(resolve("src"))
    .map((path) => readFileSync(path, "utf8"))
    .join("\n");

  it("are all used somewhere", () => {
    const unused = [...flat(en as Tree).keys()].filter((key) => {
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
