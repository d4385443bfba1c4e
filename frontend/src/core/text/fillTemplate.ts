/** How a text with `{places}` is filled, so that an empty value leaves no hole in the sentence. */

import { NO_VALUE } from "./format";

/** Round brackets and those of Chinese text, with the space before them. */
const BRACKETS = /\s*[(（]([^()（）]*)[)）]/g;
const PLACE = /\{(\w+)\}/g;
const WORD = /[\p{L}\p{N}_]/u;

/** Return whether a value is missing or consists of spaces. */
export const isEmptyValue = (value: unknown): boolean =>
  value === null || (typeof value === "string" && value.trim() === "");

/**
 * Fill a template. A place whose value is undefined stays visible. Brackets that would hold nothing but empty values
 * are left out; elsewhere a dash replaces an empty value.
 *
 * `format` receives the name, its value and the text after the place.
 */
export function fillTemplate(
  template: string,
  lookUp: (name: string) => unknown,
  format: (value: unknown, name: string, after: string) => string = String,
): string {
  const whole = template.replace(BRACKETS, (group, inside: string) => {
    const names = [...inside.matchAll(PLACE)].map((match) => match[1] ?? "");
    const isHole = names.length > 0 && names.every((name) => isEmptyValue(lookUp(name)));
    return isHole && !WORD.test(inside.replace(PLACE, "")) ? "" : group;
  });
  return whole.replace(PLACE, (place, name: string, at: number) => {
    const value = lookUp(name);
    if (value === undefined) return place;
    return isEmptyValue(value) ? NO_VALUE : format(value, name, whole.slice(at + place.length));
  });
}
