import { useCallback } from "react";
import { type SubjectMap, subjectParts } from "../../core/hosts/subject";
import { parseMeasure } from "../../core/text/figures";
import type { MessageLike } from "../../core/text/messages";
import { useCauses, useCollectors, useMetrics, usePlans, useRules } from "../queries";
import { useLocalized } from "./i18n";
import { useTranslation } from "./useTranslation";

/**
 * Return functions that map ids of rules, causes, metrics, measures, collectors and plans to titles in the user's
 * language. The title of an unknown id is the id. Until the catalogs are loaded, rules and causes have an empty title,
 * so that no id flashes on the page.
 */
export function useNames() {
  const { t } = useTranslation();
  const localize = useLocalized();
  const queries = {
    rules: useRules(),
    causes: useCauses(),
    metrics: useMetrics(),
    collectors: useCollectors(),
  };
  const rules = queries.rules.data;
  const causes = queries.causes.data;
  const metrics = queries.metrics.data;
  const collectors = queries.collectors.data;
  const ready = Object.values(queries).every((item) => !item.isPending);
  const plans = usePlans().data;
  const rule = useCallback(
    (id: string) => localize(rules?.get(id)?.title) || (ready ? id : ""),
    [rules, localize, ready],
  );
  const cause = useCallback(
    (id: string) => localize(causes?.get(id)?.title) || (ready ? id : ""),
    [causes, localize, ready],
  );
  const collector = useCallback(
    (id: string) => localize(collectors?.find((collector) => collector.id === id)?.title) || id,
    [collectors, localize],
  );
  const metric = useCallback(
    (id: string) => localize(metrics?.find((metric) => metric.id === id)?.title) || id,
    [metrics, localize],
  );
  const measure = useCallback(
    (id: string, ofRule?: string) => {
      const known = rules?.get(ofRule ?? "");
      const own = known?.thresholds.find((threshold) => threshold.measure === id)?.title;
      if (own) return localize(own);
      const { metric: name, labels, axis, how } = parseMeasure(id);
      const related = known?.related.find((item) => item.measure === id)?.title;
      if (related && !how) return localize(related);
      const where = [labels, axis].filter(Boolean).join(" ");
      const title = where ? `${metric(name)} (${where})` : metric(name);
      return how && how !== "mean" ? t(`findings.aggregation.${how}`, { title }) : title;
    },
    [rules, metric, localize, t],
  );
  const plan = useCallback(
    (id: string) =>
      id === "custom" ? t("captures.custom") : localize(plans?.find((plan) => plan.id === id)?.title) || id,
    [plans, localize, t],
  );
  /** Return one text for each part of a subject; see `subjectParts`. */
  const subject = useCallback(
    (of: SubjectMap, called?: string, within?: SubjectMap): string[] =>
      subjectParts(of, called, within).map(({ kind, name, value }) =>
        t(`findings.subject.${kind}`, { name, value }),
      ),
    [t],
  );
  /** Return a message of the server with the ids of collectors and rule in its parameters replaced by titles. */
  const reason = useCallback(
    (of: MessageLike | null | undefined) => {
      if (!of) return null;
      const params: Record<string, string | number> = { ...of.params };
      if (typeof params.collector === "string")
        params.collector = params.collector.split(" | ").map(collector).join(" / ");
      if (typeof params.rule === "string") params.rule = rule(params.rule);
      return { ...of, params };
    },
    [collector, rule],
  );
  return { rule, cause, collector, metric, measure, plan, subject, reason, ready };
}
