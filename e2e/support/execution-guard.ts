import type { BrowserContext, Page } from "@playwright/test";
import { FOREIGN_HOST, HIDDEN_CHARACTERS, PROBE, PROBE_ATTRIBUTE, PROBE_ELEMENT } from "./payloads";

const VIOLATION = "culpritViolation";

/**
 * Records what payloads do in all pages of a browser context: calls of the probe, dialogs, new windows, requests to the
 * foreign host and violations of the content policy, which markup of a payload causes even where it is blocked.
 */
export class ExecutionGuard {
  private readonly seen = new Set<string>();
  private readonly places = new WeakMap<Page, string>();

  private constructor() {}

  static async of(context: BrowserContext): Promise<ExecutionGuard> {
    const guard = new ExecutionGuard();
    await context.exposeBinding(PROBE, ({ page }, number) =>
      guard.record(page, `payload ${number} ran a script`),
    );
    await context.exposeBinding(VIOLATION, ({ page }, text) => guard.record(page, `content policy: ${text}`));
    await context.addInitScript((name) => {
      document.addEventListener("securitypolicyviolation", (event) => {
        const report = (window as unknown as Record<string, (text: string) => void>)[name];
        report?.(`${event.effectiveDirective} ${event.blockedURI} ${event.sample}`);
      });
    }, VIOLATION);
    context.on("request", (request) => {
      const url = new URL(request.url());
      if (url.host === FOREIGN_HOST) guard.record(request.frame().page(), `request of ${url.href}`);
    });
    context.on("dialog", async (dialog) => {
      guard.record(dialog.page(), `dialog: ${dialog.message()}`);
      await dialog.dismiss();
    });
    for (const page of context.pages()) guard.watch(page);
    context.on("page", (page) => {
      guard.watch(page);
    });
    return guard;
  }

  private watch(page: Page): void {
    page.on("popup", (popup) => this.record(page, `window: ${popup.url()}`));
    page.on("pageerror", (error) => this.record(page, `error: ${error.message}`));
  }

  /** Set the name of what `page` displays from now on. */
  enter(page: Page, place: string): void {
    this.places.set(page, place);
  }

  private record(page: Page | null | undefined, text: string): void {
    this.seen.add(`${(page && this.places.get(page)) ?? "unknown page"}: ${text}`);
  }

  /** Record what a payload became in the document: markup, a handler, a link that runs a script, a hidden character. */
  async inspect(page: Page): Promise<void> {
    const problems = await page.evaluate(findMarkup, {
      element: PROBE_ELEMENT,
      attribute: PROBE_ATTRIBUTE,
      probe: PROBE,
      foreign: FOREIGN_HOST,
      hidden: HIDDEN_CHARACTERS.source,
    });
    for (const problem of problems) this.record(page, problem);
  }

  /** Return all records, sorted. */
  list(): string[] {
    return [...this.seen].sort();
  }
}

interface Patterns {
  element: string;
  attribute: string;
  probe: string;
  foreign: string;
  hidden: string;
}

/** Runs in the page. */
function findMarkup({ element, attribute, probe, foreign, hidden }: Patterns): string[] {
  const problems: string[] = [];
  const characters = new RegExp(hidden, "u");
  const scriptUrl = /^(javascript|vbscript|data:text)/i;
  const show = (text: string) =>
    text.slice(0, 90).replace(new RegExp(hidden, "gu"), (c) => `\\u${(c.codePointAt(0) ?? 0).toString(16)}`);
  const checkText = (where: string, text: string) => {
    if (characters.test(text)) problems.push(`hidden character in ${where}: ${show(text)}`);
  };
  const checkElement = (item: Element) => {
    const name = item.localName;
    if (name === element || item.hasAttribute(attribute)) problems.push(`element ${show(item.outerHTML)}`);
    const runs = item instanceof HTMLScriptElement && !/json/.test(item.type);
    if (runs && (item.textContent ?? "").includes(probe)) problems.push("script element");
    if (name === "style" && (item.textContent ?? "").includes(foreign)) problems.push("style element");
    for (const { name: key, value } of item.attributes) {
      if (key.startsWith("on")) problems.push(`handler ${key} of ${name}: ${show(value)}`);
      if (
        scriptUrl.test(value.replace(/[\p{Cc} ]/gu, "")) &&
        /^(xlink:)?href$|src|action|data$|^(to|values)$/.test(key)
      )
        problems.push(`${key} of ${name}: ${show(value)}`);
      if ((key === "style" || key === "srcset" || (key === "src" && name !== "a")) && value.includes(foreign))
        problems.push(`${key} of ${name}: ${show(value)}`);
      checkText(`${key} of ${name}`, value);
    }
    if (item instanceof HTMLInputElement || item instanceof HTMLTextAreaElement)
      checkText(`value of ${name}`, item.value);
    if (item.shadowRoot) checkTree(item.shadowRoot);
  };
  const checkTree = (root: Document | ShadowRoot) => {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (node instanceof Element) checkElement(node);
      else checkText(`text of ${node.parentElement?.localName}`, node.nodeValue ?? "");
    }
  };
  checkTree(document);
  checkText("title", document.title);
  return problems;
}
