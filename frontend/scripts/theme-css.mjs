// Writes src/app/theme.css: the variables of Mantine and of our own, which Mantine would otherwise put into an
// inline style element, and our policy allows none. `--check` writes nothing and fails where the file is old.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import {
  convertCssVariables,
  DEFAULT_THEME,
  defaultCssVariablesResolver,
  mergeMantineTheme,
} from "@mantine/core";
import { resolveCssVariables, theme } from "../src/app/theme.ts";

const target = resolve(dirname(fileURLToPath(import.meta.url)), "../src/app/theme.css");
const whole = mergeMantineTheme(DEFAULT_THEME, theme);
const scheme = {
  variables: {},
  dark: { "--mantine-color-scheme": "dark" },
  light: { "--mantine-color-scheme": "light" },
};
const parts = [scheme, defaultCssVariablesResolver(whole), resolveCssVariables(whole)];
const merged = Object.fromEntries(
  ["variables", "dark", "light"].map((kind) => [kind, Object.assign({}, ...parts.map((part) => part[kind]))]),
);
const lines = convertCssVariables(merged)
  .replaceAll("{", " {\n")
  .replaceAll(";", ";\n")
  .replaceAll("}", "}\n");
const text = `/* Generated from theme.ts by scripts/theme-css.mjs. Do not edit. */\n${lines}`;

if (process.argv.includes("--check")) {
  if (readFileSync(target, "utf8") !== text) {
    console.error("src/app/theme.css is older than theme.ts; run: npm run theme");
    process.exit(1);
  }
} else {
  writeFileSync(target, text);
}
