import type { Condition, ConditionKind } from "../../client/models";
import { formatQuantity, NO_VALUE } from "../../core/text/format";

type ConditionDetails = Condition & { unit: string; is_start: boolean };

/** Return the text of a condition. `title` is the title of its kind. */
export function conditionText(condition: ConditionDetails, title: string): string {
  const what = condition.key ? `${title}: ${condition.key}` : title;
  if (condition.is_start) return what;
  const sign = condition.op === "over" ? "≥" : "≤";
  const hits =
    condition.window_readings > 1 ? ` (${condition.required_hits}/${condition.window_readings})` : "";
  return `${what} ${sign} ${formatQuantity(condition.limit, condition.unit)}${hits}`;
}

/** Return the newest reading with its unit. */
export const lastReading = (values: readonly (number | null)[], unit: string): string => {
  const last = values[values.length - 1];
  return last === undefined || last === null ? NO_VALUE : formatQuantity(last, unit);
};

export const watcherTitle = (
  kinds: readonly ConditionKind[] | undefined,
  kind: string,
  locale: "en" | "zh",
): string => kinds?.find((conditionKind) => conditionKind.kind === kind)?.title[locale] ?? kind;
