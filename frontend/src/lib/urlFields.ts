/** Fields of the URL: how a query parameter is parsed and formatted. Needs no React. */
import type { Search } from "../core/search";
import { formatRange, parseRange, type Range } from "../core/time/range";

/** Parser and formatter of a query parameter of the URL. */
export interface Field<T> {
  parse(text: string | undefined): T;
  /** Return the text of the parameter, or undefined to omit it from the URL. */
  format(value: T): string | undefined;
}

export const textField: Field<string> = {
  parse: (text) => text ?? "",
  format: (value) => value || undefined,
};
export const rangeField: Field<Range | undefined> = {
  parse: parseRange,
  format: (value) => (value ? formatRange(value) : undefined),
};
export const listField: Field<readonly string[]> = {
  parse: (text) => (text ? text.split(",").map(decodeURIComponent) : []),
  format: (value) =>
    value.length > 0
      ? value.map((item) => item.replaceAll("%", "%25").replaceAll(",", "%2C")).join(",")
      : undefined,
};
export const flagField: Field<boolean> = {
  parse: (text) => text === "1",
  format: (value) => (value ? "1" : undefined),
};
export const intField: Field<number | undefined> = {
  parse: (text) => (text !== undefined && /^-?\d{1,15}$/.test(text) ? Number(text) : undefined),
  format: (value) => (value === undefined ? undefined : String(value)),
};
export function choiceField<T extends string>(choices: readonly T[], fallback: T): Field<T> {
  return {
    parse: (text) => (choices.includes(text as T) ? (text as T) : fallback),
    format: (value) => (value === fallback ? undefined : value),
  };
}

export type FieldValues<F> = { [K in keyof F]: F[K] extends Field<infer T> ? T : never };

/** Return the parsed value of each field in the query parameters of a URL. */
export function parseFields<F extends Record<string, Field<unknown>>>(
  fields: F,
  search: Search,
): FieldValues<F> {
  const out: Record<string, unknown> = {};
  for (const [key, field] of Object.entries(fields)) out[key] = field.parse(search[key]);
  return out as FieldValues<F>;
}
