const PLACEHOLDER = /\{\{\s*(\w+)\s*\}\}/g;

const RULES = { en: new Intl.PluralRules("en"), zh: new Intl.PluralRules("zh") };

/**
 * Return the text of a key with its `{{name}}` placeholders filled. A value `count` selects the plural form
 * (`key_one`, `key_other`). For an unknown key, return `defaultValue`, else the key.
 */
export function translateKey(
  texts: ReadonlyMap<string, string>,
  locale: "en" | "zh",
  key: string,
  values: Readonly<Record<string, string | number | undefined>> = {},
): string {
  const { count } = values;
  const form = typeof count === "number" ? texts.get(`${key}_${RULES[locale].select(count)}`) : undefined;
  const text = form ?? texts.get(key);
  if (text === undefined) return values.defaultValue === undefined ? key : String(values.defaultValue);
  return text.replace(PLACEHOLDER, (_, name: string) => String(values[name] ?? ""));
}
