import { useMemo } from "react";
import { translateKey } from "../../core/text/translate";
import type { TextVariables } from "../../i18n/texts";
import { useCatalog } from "./i18n";

export type TextKey = keyof TextVariables;

/** Keys of texts without variables. */
export type PlainTextKey = { [Key in TextKey]: [TextVariables[Key]] extends [never] ? Key : never }[TextKey];

type Values<Key extends TextKey> = Record<TextVariables[Key], string | number> & { defaultValue?: string };

/** Function that returns the text of a key in the user's language. Each variable of the text must have a value. */
export type Translate = <Key extends TextKey>(
  key: Key,
  ...values: [TextVariables[Key]] extends [never]
    ? [values?: { defaultValue?: string }]
    : [values: Values<Key>]
) => string;

/** Return the translation function `t`; keys and variables are type-checked. */
export function useTranslation(): { t: Translate } {
  const { locale, texts } = useCatalog();
  return useMemo(
    () => ({
      t: ((key: string, values?: Readonly<Record<string, string | number>>) =>
        translateKey(texts, locale, key, values)) as Translate,
    }),
    [locale, texts],
  );
}
