import { useCallback } from "react";
import { useRules } from "../queries";
import { useNames } from "./useNames";

/** Return a function that maps an id to a title: of a metric, or of a measure as its rule titles it. */
export function useNumberName(): (id: string) => string {
  const names = useNames();
  const rules = useRules().data;
  return useCallback(
    (id) => {
      const rule = [...(rules?.values() ?? [])].find(
        (rule) =>
          rule.thresholds.some((threshold) => threshold.measure === id && threshold.title) ||
          rule.related.some((each) => each.measure === id),
      );
      return names.measure(id, rule?.id);
    },
    [rules, names],
  );
}
