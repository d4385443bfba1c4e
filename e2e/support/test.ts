import { test as base, type Page } from "@playwright/test";

const TRIES = 3;

/**
 * Make `goto` and `reload` retry when Chromium aborts a load with ERR_NETWORK_CHANGED. Lab hosts add and remove network
 * interfaces on this machine while pages of other tests are loading.
 */
export function steady(page: Page): Page {
  let changed = false;
  page.on("requestfailed", (request) => {
    changed ||= request.failure()?.errorText === "net::ERR_NETWORK_CHANGED";
  });
  const untilWhole = async <Answer>(load: () => Promise<Answer>): Promise<Answer> => {
    for (let tried = 1; ; tried++) {
      changed = false;
      try {
        const answer = await load();
        if (!changed || tried === TRIES) return answer;
      } catch (error) {
        if (!changed || tried === TRIES) throw error;
      }
    }
  };
  const [goto, reload] = [page.goto.bind(page), page.reload.bind(page)];
  page.goto = (url, options) => untilWhole(() => goto(url, options));
  page.reload = (options) => untilWhole(() => reload(options));
  return page;
}

/** Playwright test whose page is `steady`. Pages of other contexts need an explicit call of `steady`. */
export const test = base.extend({
  page: async ({ page }, use) => {
    await use(steady(page));
  },
});

export { expect } from "@playwright/test";
