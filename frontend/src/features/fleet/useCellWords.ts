import { useCallback } from "react";
import { useTranslation } from "react-i18next";
import type { FleetRule, FleetWord } from "../../client/types";
import { ago } from "../../components/Ago";
import { cellLook } from "../../core/fleet";
import { quantity } from "../../core/format";
import { useLocale, usePick } from "../../lib/i18n";
import { useNames } from "../../lib/useNames";

/** `44 ms > 3 ms`; a number that nothing was held against stands alone. */
export function compared(word: FleetWord, rule: FleetRule | undefined): string {
  if (word.value === null) return "";
  const value = quantity(word.value, rule?.unit ?? "");
  return word.threshold === null
    ? value
    : `${value} ${rule?.op ?? ""} ${quantity(word.threshold, rule?.unit ?? "")}`;
}

/** All of a cell in one sentence: what was found, its number, how old it is. */
export function useCellWords() {
  const { t } = useTranslation();
  const pick = usePick();
  const locale = useLocale();
  const { subject } = useNames();
  return useCallback(
    (word: FleetWord | undefined, rule: FleetRule | undefined, age: number | undefined): string => {
      const look = cellLook(word);
      if (!word) return t("fleet.look.absent");
      const parts = [
        t(`fleet.look.${look}`),
        pick(rule?.title) || word.rule,
        // The number of a quiet rule is no comparison that held: it stands without its threshold's sign.
        word.state === "quiet" && word.value !== null
          ? quantity(word.value, rule?.unit ?? "")
          : compared(word, rule),
        ...subject(word.subject),
        age === undefined ? "" : ago(-age, 0, locale),
      ];
      return parts.filter(Boolean).join(" · ");
    },
    [t, pick, subject, locale],
  );
}
