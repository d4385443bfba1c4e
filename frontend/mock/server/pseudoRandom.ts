/** Return a pseudorandom number from 0 to 1. The same arguments always return the same number. */
export function hashToUnit(...parts: (string | number)[]): number {
  let h = 2166136261;
  for (const part of parts)
    for (const ch of String(part)) {
      h ^= ch.charCodeAt(0);
      h = Math.imul(h, 16777619);
    }
  h ^= h >>> 15;
  h = Math.imul(h, 2246822507);
  h ^= h >>> 13;
  return (h >>> 0) / 4294967296;
}

export const pickBySeed = <T>(from: readonly T[], ...seed: (string | number)[]): T =>
  from[Math.floor(hashToUnit(...seed) * from.length)] as T;

/** Return an ID in the format of a UUID. */
export function makeId(...seed: (string | number)[]): string {
  let hex = "";
  for (let i = 0; hex.length < 32; i += 1)
    hex += Math.floor(hashToUnit("id", i, ...seed) * 4294967296)
      .toString(16)
      .padStart(8, "0");
  return `0193${hex.slice(4, 8)}-${hex.slice(8, 12)}-7${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
