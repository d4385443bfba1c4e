import { useCallback } from "react";
import { useTranslation } from "react-i18next";
import { COLUMNS } from "../../core/fleet";
import { usePick } from "../../lib/i18n";
import { useNames } from "../../lib/useNames";
import { partsOf } from "./columns";
import type { Rules } from "./useFleet";

/** What a column of either grid is called: resource and letter, or the rule that it is. */
export function useTitle(rules: Rules): (column: string) => string {
  const { t } = useTranslation();
  const pick = usePick();
  const { rule: named } = useNames();
  return useCallback(
    (column) => {
      const place = COLUMNS.find((one) => one === column);
      if (!place) return pick(rules[column]?.title) || named(column);
      const [resource, letter] = partsOf(place);
      return t("fleet.column", {
        resource: t(`fleet.resource.${resource}`),
        letter: t(`fleet.letter.${letter}`),
      });
    },
    [t, pick, named, rules],
  );
}
