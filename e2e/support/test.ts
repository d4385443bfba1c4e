import { test as base } from "@playwright/test";

const TRIES = 3;

/**
 * Tests whose page is loaded once more where Chromium gave it up because an interface came or went on this machine:
 * laboratory hosts get theirs while pages of other tests are loading.
 */
export const test = base.extend({
  page: async ({ page }, use) => {
    let changed = false;
    page.on("requestfailed", (request) => {
      changed ||= request.failure()?.errorText === "net::ERR_NETWORK_CHANGED";
    });
    const goto = page.goto.bind(page);
    page.goto = async (url, options) => {
      for (let tried = 1; ; tried++) {
        changed = false;
        try {
          const answer = await goto(url, options);
          if (!changed || tried === TRIES) return answer;
        } catch (error) {
          if (!changed || tried === TRIES) throw error;
        }
      }
    };
    await use(page);
  },
});

export { expect } from "@playwright/test";
