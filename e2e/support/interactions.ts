import type { Page } from "@playwright/test";

export interface Spent {
  clicks: number;
  keys: number;
  seconds: number;
}

const NOTHING: Spent = { clicks: 0, keys: 0, seconds: 0 };
const KEPT = "hands";

/**
 * What it takes somebody: presses of the mouse and of keys, as the page itself sees them, and the time meanwhile. Text
 * that is filled into a field counts as no key. What a story does to be refused is no part of the way: `aside`.
 */
export class Hands {
  private aside_: Spent = NOTHING;

  private constructor(private readonly page: Page) {}

  /** Counts from the next page that is opened. */
  static async of(page: Page): Promise<Hands> {
    await page.addInitScript((kept) => {
      for (const kind of ["pointerdown", "keydown"])
        window.addEventListener(
          kind,
          (event) => {
            if (!event.isTrusted) return;
            const seen = JSON.parse(sessionStorage.getItem(kept) ?? "{}");
            sessionStorage.setItem(kept, JSON.stringify({ ...seen, [kind]: (seen[kind] ?? 0) + 1 }));
          },
          { capture: true },
        );
    }, KEPT);
    return new Hands(page);
  }

  /** All that was spent so far, without what was aside; the time is that of the clock. */
  async spent(): Promise<Spent> {
    return minus(await this.seen(), this.aside_);
  }

  /** What was spent since. */
  async since(begin: Spent): Promise<Spent> {
    return minus(await this.spent(), begin);
  }

  /** What a story tries and nobody would need to. */
  async aside(act: () => Promise<void>): Promise<void> {
    const begin = await this.seen();
    await act();
    const took = minus(await this.seen(), begin);
    this.aside_ = {
      clicks: this.aside_.clicks + took.clicks,
      keys: this.aside_.keys + took.keys,
      seconds: this.aside_.seconds + took.seconds,
    };
  }

  private async seen(): Promise<Spent> {
    const counted = await this.page.evaluate(
      (kept) => JSON.parse(sessionStorage.getItem(kept) ?? "{}"),
      KEPT,
    );
    return { clicks: counted.pointerdown ?? 0, keys: counted.keydown ?? 0, seconds: Date.now() / 1000 };
  }
}

const minus = (one: Spent, other: Spent): Spent => ({
  clicks: one.clicks - other.clicks,
  keys: one.keys - other.keys,
  seconds: one.seconds - other.seconds,
});

export const told = ({ clicks, keys, seconds }: Spent): string =>
  `${clicks} clicks, ${keys} keys, ${seconds.toFixed(0)} s`;
