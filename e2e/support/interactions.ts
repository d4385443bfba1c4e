import type { Page } from "@playwright/test";

export interface Interactions {
  clicks: number;
  keys: number;
  seconds: number;
}

const NONE: Interactions = { clicks: 0, keys: 0, seconds: 0 };
const STORAGE_KEY = "interactions";

/**
 * Counter of the mouse and key presses that the page receives, and of the time. Text set with `fill` counts as no key.
 * Actions that only test a rejection are excluded with `exclude`.
 */
export class InteractionCounter {
  private excluded: Interactions = NONE;

  private constructor(private readonly page: Page) {}

  /** Return a counter that starts with the next page load. */
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

  /** Return all interactions so far, without excluded interactions; `seconds` is Unix time minus excluded time. */
  async total(): Promise<Interactions> {
    return minus(await this.count(), this.excluded);
  }

  /** Return the interactions since `begin`. */
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
