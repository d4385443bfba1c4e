import { showHidden } from "./text/visibleJson";

/**
 * Query parameters of a URL as a flat record of strings. URLs contain the state of a page, so they must be readable:
 * characters that separate values (`,:~/@;`) are not percent-encoded.
 */
export type Search = Record<string, string | undefined>;

/** Parse `?a=1&b=2`. Of a repeated key, the last value is used. */
export function parseSearch(text: string): Search {
  const out: Search = {};
  for (const [key, value] of new URLSearchParams(text)) out[key] = showHidden(value);
  return out;
}

/** Format query parameters, sorted by key. Undefined, null and empty values are omitted. */
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
