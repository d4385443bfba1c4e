import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { expect, type Page } from "@playwright/test";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Violation {
  id: string;
  impact: string;
  nodes: { html: string; failureSummary: string }[];
}

/** The rules of axe whose result depends on the color scheme. */
export const COLOR_RULES: readonly string[] = ["color-contrast", "link-in-text-block"];

/** No serious or critical accessibility violation on the current page; of all rules, or of `rules`. */
export async function accessible(page: Page, rules?: readonly string[]): Promise<void> {
  // Colors fade when the scheme changes: half way, a contrast means nothing. The fading begins with the next frame.
  await page.evaluate(
    () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(undefined)))),
  );
  await page.waitForFunction(() =>
    document
      .getAnimations()
      .every((a) => a.playState !== "running" || a.effect?.getTiming().iterations === Infinity),
  );
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(AXE);
  const violations = await page.evaluate(
    async (options) => {
      const { axe } = window as unknown as { axe: { run(o: object): Promise<{ violations: Violation[] }> } };
      return (await axe.run(options)).violations;
    },
    { resultTypes: ["violations"], ...(rules ? { runOnly: [...rules] } : {}) },
  );
  const grave = violations.filter((v) => v.impact === "serious" || v.impact === "critical");
  expect(grave.map((v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 160)).join(" | ")}`)).toEqual([]);
}

/** Nothing sticks out to the right of the window. */
export async function fitsSideways(page: Page): Promise<void> {
  // What is drawn follows the window a frame or two later.
  await expect
    .poll(() =>
      page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth),
    )
    .toBeLessThanOrEqual(0);
}

/** No table has to be scrolled sideways to be read. */
export async function nothingHidden(page: Page): Promise<void> {
  await expect
    .poll(() =>
      page
        .locator("section:has(> table)")
        .evaluateAll((all) => all.filter((section) => section.scrollWidth > section.clientWidth).length),
    )
    .toBe(0);
}

/** Fails the test on errors in the browser's console, blocked content among them. */
export function watchConsole(
  page: Page,
  allow: RegExp = /status of (401|404|409|422)|ERR_NETWORK_CHANGED/,
): () => void {
  const seen: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" && !allow.test(message.text())) seen.push(message.text());
  });
  page.on("pageerror", (error) => seen.push(String(error)));
  return () => expect(seen).toEqual([]);
}
