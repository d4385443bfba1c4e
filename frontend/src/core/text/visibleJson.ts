/**
 * Characters that are not displayed and change how the text around them appears: control characters except tab and line
 * ends, marks that turn the direction of text, and the byte order mark.
 */
const HIDDEN = /(?![\t\n\r])[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu;
/** Whether JSON may contain such a character, as itself or as an escape sequence. */
const MAY_HIDE = /[\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]|\\[bfu]/;

/** Replace hidden characters with U+FFFD, so that no text from outside can forge or reorder what is next to it. */
export const showHidden = (text: string): string => text.replace(HIDDEN, "\ufffd");

/** Parse JSON with hidden characters replaced in all its texts and names. Throws SyntaxError as `JSON.parse` does. */
export function parseVisibleJson(json: string): unknown {
  const value: unknown = JSON.parse(json);
  return MAY_HIDE.test(json) ? replaceIn(value) : value;
}

function replaceIn(value: unknown): unknown {
  if (typeof value === "string") return showHidden(value);
  if (Array.isArray(value)) return value.map(replaceIn);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [showHidden(name), replaceIn(item)]));
}
