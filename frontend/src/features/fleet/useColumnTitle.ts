import { useCallback } from "react";
import { COLUMNS } from "../../core/hosts/fleet";
import { useLocalized } from "../../lib/text/i18n";
import { useNames } from "../../lib/text/useNames";
import { useTranslation } from "../../lib/text/useTranslation";
import { splitColumnId } from "./columns";
import type { Rules } from "./useFleet";

/** Return a function that names a column: resource and USE category, or the title of its rule. */
export function useColumnTitle(rules: Rules): (column: string) => string {
  const { t } = useTranslation();
  const localize = useLocalized();
  const { rule: ruleName } = useNames();
  return useCallback(
    (column) => {
      const place = COLUMNS.find((item) => item === column);
      if (!place) return localize(rules[column]?.title) || ruleName(column);
      const [resource, letter] = splitColumnId(place);
      return t("fleet.column", {
        resource: t(`fleet.resource.${resource}`),
        use_category: t(`fleet.use_category.${letter}`),
      });
    },
    [t, localize, ruleName, rules],
  );
}
