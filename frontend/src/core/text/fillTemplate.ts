/** Filling of templates with `{placeholders}`, so that sentences with empty values stay readable. */

import { NO_VALUE } from "./format";

/** ASCII and full-width (Chinese) parentheses, with the space before them. */
const BRACKETS = /\s*[(（]([^()（）]*)[)）]/g;
const PLACEHOLDER = /\{(\w+)\}/g;
const WORD = /[\p{L}\p{N}_]/u;

/** Return whether a value is missing or consists of spaces. */
export const isEmptyValue = (value: unknown): boolean =>
  value === null || (typeof value === "string" && value.trim() === "");

/**
 * Fill a template. A placeholder with an undefined value stays in the text. Parentheses with only empty values are
 * removed; elsewhere a dash replaces an empty value.
 *
 * `format` receives the value, the name and the text after the placeholder.
 */
export function fillTemplate(
  template: string,
  lookUp: (name: string) => unknown,
  format: (value: unknown, name: string, after: string) => string = String,
): string {
  const whole = template.replace(BRACKETS, (group, inside: string) => {
    const names = [...inside.matchAll(PLACEHOLDER)].map((match) => match[1] ?? "");
    const isHole = names.length > 0 && names.every((name) => isEmptyValue(lookUp(name)));
    return isHole && !WORD.test(inside.replace(PLACEHOLDER, "")) ? "" : group;
  });
  return whole.replace(PLACEHOLDER, (place, name: string, at: number) => {
    const value = lookUp(name);
    if (value === undefined) return place;
    return isEmptyValue(value) ? NO_VALUE : format(value, name, whole.slice(at + place.length));
  });
}
