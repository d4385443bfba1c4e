import type { Condition, ConditionKind } from "../../client/standbys";
import { NO_VALUE, quantity } from "../../core/format";

type Shown = Condition & { unit: string; starts: boolean };

/** A condition in words: what, and from where on it holds. `title` is what its kind is called. */
export function conditionText(one: Shown, title: string): string {
  const what = one.key ? `${title}: ${one.key}` : title;
  if (one.starts) return what;
  const sign = one.op === "over" ? "≥" : "≤";
  const held = one.of > 1 ? ` (${one.hits}/${one.of})` : "";
  return `${what} ${sign} ${quantity(one.limit, one.unit)}${held}`;
}

/** The newest reading with its unit. */
export const lastReading = (values: readonly (number | null)[], unit: string): string => {
  const last = values[values.length - 1];
  return last === undefined || last === null ? NO_VALUE : quantity(last, unit);
};

export const titleOf = (
  kinds: readonly ConditionKind[] | undefined,
  kind: string,
  locale: "en" | "zh",
): string => kinds?.find((one) => one.kind === kind)?.title[locale] ?? kind;
