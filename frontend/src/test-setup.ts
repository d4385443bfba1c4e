import "@testing-library/jest-dom/vitest";
import { cleanup, configure } from "@testing-library/react";
import { afterAll, afterEach, beforeAll } from "vitest";
import { mockServer, overrideAnswer, sentRequests } from "../mock/server/msw";
import { loadAllTexts, loadMessageTexts } from "./lib/text/catalog";
import { startI18n } from "./lib/text/i18n";

// A loaded machine is slow, and a whole document printed on failure hides the reason.
configure({
  asyncUtilTimeout: 50_000 * Number(process.env.CULPRIT_TEST_TIMEOUT_FACTOR ?? 1),
  getElementError: (message) => {
    const error = new Error(message?.split("\n")[0] ?? "");
    error.name = "NotFound";
    return error;
  },
});

/** What the browser has and happy-dom has not: every element is 1200 px wide and 600 px high. */
class Observer {
  constructor(private readonly callback: ResizeObserverCallback) {}
  observe(target: Element): void {
    const contentRect = { width: 1200, height: 600, top: 0, left: 0, right: 1200, bottom: 600, x: 0, y: 0 };
    this.callback(
      [{ target, contentRect } as unknown as ResizeObserverEntry],
      this as unknown as ResizeObserver,
    );
  }
  unobserve(): void {}
  disconnect(): void {}
}
globalThis.ResizeObserver = Observer as unknown as typeof ResizeObserver;
for (const [name, value] of [
  ["clientWidth", 1200],
  ["clientHeight", 600],
] as const)
  Object.defineProperty(HTMLElement.prototype, name, { value, configurable: true });
// Every element is near the viewport.
Reflect.deleteProperty(globalThis, "IntersectionObserver");
Object.defineProperty(document, "fonts", { value: new EventTarget(), configurable: true });
Element.prototype.scrollIntoView ??= () => undefined;

beforeAll(async () => {
  mockServer.listen();
  await startI18n("en");
  await Promise.all([loadAllTexts(), ...["events", "incidents", "runs", "requests"].map(loadMessageTexts)]);
});
afterEach(() => {
  cleanup();
  overrideAnswer(undefined);
  sentRequests.length = 0;
});
afterAll(() => mockServer.close());
