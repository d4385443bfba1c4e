import { useCallback } from "react";
import { useTranslation } from "react-i18next";
import { measureParts } from "../core/figures";
import { usePick } from "./i18n";
import { useCauses, useCollectors, useMetrics, useRules } from "./queries";

/** What rules, causes, measures and collectors are called in the reader's language; an unknown id is its own name. */
export function useNames() {
  const { t } = useTranslation();
  const pick = usePick();
  const rules = useRules().data;
  const causes = useCauses().data;
  const metrics = useMetrics().data;
  const collectors = useCollectors().data;
  const rule = useCallback((id: string) => pick(rules?.get(id)?.title) || id, [rules, pick]);
  const cause = useCallback((id: string) => pick(causes?.get(id)?.title) || id, [causes, pick]);
  const collector = useCallback(
    (id: string) => pick(collectors?.find((one) => one.id === id)?.title) || id,
    [collectors, pick],
  );
  const metric = useCallback(
    (id: string) => pick(metrics?.find((one) => one.id === id)?.title) || id,
    [metrics, pick],
  );
  const measure = useCallback(
    (id: string, ofRule?: string) => {
      const own = rules?.get(ofRule ?? "")?.limits.find((one) => one.measure === id)?.title;
      if (own) return pick(own);
      const { metric: name, labels, axis, how } = measureParts(id);
      const where = [labels, axis].filter(Boolean).join(" ");
      const title = where ? `${metric(name)} (${where})` : metric(name);
      return how && how !== "mean" ? t(`findings.how.${how}`, { title }) : title;
    },
    [rules, metric, pick, t],
  );
  return { rule, cause, collector, metric, measure };
}
