import { useCallback } from "react";
import { relativeTime } from "../../../components/text/RelativeTime";
import { cellState } from "../../../core/hosts/fleet";
import { formatQuantity } from "../../../core/text/format";
import { useLocale, useLocalized } from "../../../lib/text/i18n";
import { useNames } from "../../../lib/text/useNames";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { FleetFinding, FleetRule } from "../api";

/** Return value, operator and threshold as `44 ms > 3 ms`; without a threshold only the value. */
export function comparisonText(finding: FleetFinding, rule: FleetRule | undefined): string {
  if (finding.value === null) return "";
  const value = formatQuantity(finding.value, rule?.unit ?? "");
  return finding.threshold === null
    ? value
    : `${value} ${rule?.op ?? ""} ${formatQuantity(finding.threshold, rule?.unit ?? "")}`;
}

/** Return a function that describes a cell as text: state, rule, number and age in seconds. */
export function useCellText() {
  const { t } = useTranslation();
  const localize = useLocalized();
  const locale = useLocale();
  const { subject } = useNames();
  return useCallback(
    (finding: FleetFinding | undefined, rule: FleetRule | undefined, age: number | undefined): string => {
      const state = cellState(finding);
      if (!finding) return t("fleet.state.absent");
      const parts = [
        t(`fleet.state.${state}`),
        localize(rule?.title) || finding.rule,
        // The number of a rule that did not match is displayed without its threshold.
        finding.state === "not_matched" && finding.value !== null
          ? formatQuantity(finding.value, rule?.unit ?? "")
          : comparisonText(finding, rule),
        ...subject(finding.subject),
        age === undefined ? "" : relativeTime(-age, 0, locale),
      ];
      return parts.filter(Boolean).join(" · ");
    },
    [t, localize, subject, locale],
  );
}
