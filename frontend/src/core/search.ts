/**
 * The query part of an address as a flat record of strings. The address holds the whole view, so it must stay
 * readable: the characters that separate our own values are left as they are.
 */
export type Search = Record<string, string | undefined>;

/** Reads `?a=1&b=2`; where a key is repeated, the last one counts. */
export function parseSearch(text: string): Search {
  const out: Search = {};
  for (const [key, value] of new URLSearchParams(text)) out[key] = value;
  return out;
}

/** Writes the record back in a stable order of keys; undefined and empty values are left out. */
export function formatSearch(search: Record<string, unknown>): string {
  const parts: string[] = [];
  for (const key of Object.keys(search).sort()) {
    const value = search[key];
    if (value === undefined || value === null || value === "") continue;
    parts.push(`${encode(key)}=${encode(String(value))}`);
  }
  return parts.length > 0 ? `?${parts.join("&")}` : "";
}

function encode(text: string): string {
  return encodeURIComponent(text).replace(/%(2C|3A|7E|2F|40|3B)/gi, (hex) => decodeURIComponent(hex));
}
