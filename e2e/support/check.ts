import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { expect, type Page } from "@playwright/test";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Violation {
  id: string;
  impact: string;
  nodes: { html: string; failureSummary: string }[];
}

/** Rules of axe whose results depend on the color scheme. */
export const COLOR_RULES: readonly string[] = ["color-contrast", "link-in-text-block"];

/** Fail on serious or critical accessibility violations on the page, of all axe rules or only of `rules`. */
export async function expectAccessible(page: Page, rules?: readonly string[]): Promise<void> {
  // A change of the color scheme starts CSS transitions in the next frame, during which contrasts are meaningless.
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

/** Fail if the page is wider than the window. */
export async function expectNoSidewaysScroll(page: Page): Promise<void> {
  // Charts adapt to the window size one or two frames later.
  await expect
    .poll(() =>
      page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth),
    )
    .toBeLessThanOrEqual(0);
}

/** Fail if a table needs horizontal scrolling. */
export async function expectTablesFit(page: Page): Promise<void> {
  await expect
    .poll(() =>
      page
        .locator("section:has(> table)")
        .evaluateAll((all) => all.filter((section) => section.scrollWidth > section.clientWidth).length),
    )
    .toBe(0);
}

/**
 * Record errors in the browser console, including blocked content, except those that match `allow`. Return a function
 * that fails if there were any.
 */
export function recordConsoleErrors(
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
