import type { Page } from "@playwright/test";

export interface Interactions {
  clicks: number;
  keys: number;
  seconds: number;
}

const NONE: Interactions = { clicks: 0, keys: 0, seconds: 0 };
const STORAGE_KEY = "interactions";

/**
 * Count the mouse and key presses that the page receives, and the time. Text that is filled into a field counts as no
 * key. Actions that a test takes only to be refused do not count: `exclude`.
 */
export class InteractionCounter {
  private excluded: Interactions = NONE;

  private constructor(private readonly page: Page) {}

  /** Count from the next page that is opened. */
  static async of(page: Page): Promise<InteractionCounter> {
    await page.addInitScript((storageKey) => {
      for (const kind of ["pointerdown", "keydown"])
        window.addEventListener(
          kind,
          (event) => {
            if (!event.isTrusted) return;
            const counts = JSON.parse(sessionStorage.getItem(storageKey) ?? "{}");
            sessionStorage.setItem(
              storageKey,
              JSON.stringify({ ...counts, [kind]: (counts[kind] ?? 0) + 1 }),
            );
          },
          { capture: true },
        );
    }, STORAGE_KEY);
    return new InteractionCounter(page);
  }

  /** All interactions so far, without the excluded ones; the time is that of the clock. */
  async total(): Promise<Interactions> {
    return minus(await this.count(), this.excluded);
  }

  /** Interactions since `begin`. */
  async since(begin: Interactions): Promise<Interactions> {
    return minus(await this.total(), begin);
  }

  /** Run actions that do not count. */
  async exclude(act: () => Promise<void>): Promise<void> {
    const begin = await this.count();
    await act();
    const took = minus(await this.count(), begin);
    this.excluded = {
      clicks: this.excluded.clicks + took.clicks,
      keys: this.excluded.keys + took.keys,
      seconds: this.excluded.seconds + took.seconds,
    };
  }

  private async count(): Promise<Interactions> {
    const counted = await this.page.evaluate(
      (storageKey) => JSON.parse(sessionStorage.getItem(storageKey) ?? "{}"),
      STORAGE_KEY,
    );
    return { clicks: counted.pointerdown ?? 0, keys: counted.keydown ?? 0, seconds: Date.now() / 1000 };
  }
}

const minus = (total: Interactions, other: Interactions): Interactions => ({
  clicks: total.clicks - other.clicks,
  keys: total.keys - other.keys,
  seconds: total.seconds - other.seconds,
});

export const formatInteractions = ({ clicks, keys, seconds }: Interactions): string =>
  `${clicks} clicks, ${keys} keys, ${seconds.toFixed(0)} s`;
