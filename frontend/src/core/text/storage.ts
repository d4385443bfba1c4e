/** Sizes in bytes and lists of days, for the storage pages. */

import { roundTicks } from "../charts/chartScale";

const UNITS = { b: 0, kib: 1, mib: 2, gib: 3, tib: 4, pib: 5 } as const;

/** Parse a size such as `50 GiB` and return bytes, or undefined for other text. */
export function parseSize(text: string): number | undefined {
  const match = /^\s*(\d+(?:\.\d+)?)\s*([kmgtp]ib|b)?\s*$/i.exec(text);
  if (!match) return undefined;
  const power = UNITS[(match[2] ?? "b").toLowerCase() as keyof typeof UNITS];
  return Math.round(Number(match[1]) * 1024 ** power);
}

const DAY_MS = 86_400_000;

/** Return the last `count` UTC days up to `until` as `2026-01-31`, oldest first. */
export function listLastDays(until: Date, count: number): string[] {
  const last = Math.floor(until.getTime() / DAY_MS);
  return Array.from({ length: count }, (_, i) =>
    new Date((last - count + 1 + i) * DAY_MS).toISOString().slice(0, 10),
  );
}

/** Return about `about` ticks from 0 to at least `most` bytes, round in their display unit (KiB, MiB, …). */
export function byteTicks(most: number, about: number): number[] {
  const unit = 1024 ** Math.max(0, Math.floor(Math.log2(Math.max(1, most)) / 10));
  return roundTicks(most / unit, about).map((tick) => tick * unit);
}
