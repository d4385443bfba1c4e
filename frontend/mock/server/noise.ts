/** Repeatable made-up numbers: the same arguments always give the same value. */
export function hash(...parts: (string | number)[]): number {
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

export const pick = <T>(from: readonly T[], ...seed: (string | number)[]): T =>
  from[Math.floor(hash(...seed) * from.length)] as T;

/** A UUID-shaped id. */
export function id(...seed: (string | number)[]): string {
  let hex = "";
  for (let i = 0; hex.length < 32; i += 1)
    hex += Math.floor(hash("id", i, ...seed) * 4294967296)
      .toString(16)
      .padStart(8, "0");
  return `0193${hex.slice(4, 8)}-${hex.slice(8, 12)}-7${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
