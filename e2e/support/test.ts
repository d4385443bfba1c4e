import { test as base, type Page } from "@playwright/test";

const MAX_ATTEMPTS = 3;

/**
 * Make `goto` and `reload` retry when Chromium aborts a load with ERR_NETWORK_CHANGED. Lab hosts add and remove network
 * interfaces on this machine while pages of other tests are loading.
 */
export function retryAbortedLoads(page: Page): Page {
  let changed = false;
  page.on("requestfailed", (request) => {
    changed ||= request.failure()?.errorText === "net::ERR_NETWORK_CHANGED";
  });
  const retryLoad = async <Answer>(load: () => Promise<Answer>): Promise<Answer> => {
    for (let attempt = 1; ; attempt++) {
      changed = false;
      try {
        const answer = await load();
        if (!changed || attempt === MAX_ATTEMPTS) return answer;
      } catch (error) {
        if (!changed || attempt === MAX_ATTEMPTS) throw error;
      }
    }
  };
  const [goto, reload] = [page.goto.bind(page), page.reload.bind(page)];
  page.goto = (url, options) => retryLoad(() => goto(url, options));
  page.reload = (options) => retryLoad(() => reload(options));
  return page;
}

/** Playwright test whose page retries aborted loads. Pages of other contexts need a call of `retryAbortedLoads`. */
export const test = base.extend({
  page: async ({ page }, use) => {
    await use(retryAbortedLoads(page));
  },
});

export { expect } from "@playwright/test";
