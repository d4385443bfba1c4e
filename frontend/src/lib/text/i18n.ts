import i18next from "i18next";
import { useCallback } from "react";
import { initReactI18next, useTranslation } from "react-i18next";
import type { MessageLike } from "../../core/text/messages";
import { type MessageTexts, messageText } from "../../core/text/messageText";
import { prefs, setPrefs } from "../prefs";

export type Locale = "en" | "zh";

const SOURCES: Record<Locale, () => Promise<[{ texts: readonly object[] }, { default: object }]>> = {
  en: () => Promise.all([import("../../i18n/texts.en"), import("../../i18n/server.en.json")]),
  zh: () => Promise.all([import("../../i18n/texts.zh"), import("../../i18n/server.zh.json")]),
};

const catalogs: Partial<Record<Locale, MessageTexts>> = {};

async function load(locale: Locale): Promise<void> {
  if (catalogs[locale]) return;
  const [ui, server] = await SOURCES[locale]();
  for (const texts of ui.texts) i18next.addResourceBundle(locale, "translation", texts, true, true);
  catalogs[locale] = server.default as MessageTexts;
}

/** Load the texts of the user's language before the first paint. The other language is not loaded. */
export async function startI18n(locale: Locale = prefs().locale): Promise<void> {
  await i18next.use(initReactI18next).init({
    lng: locale,
    fallbackLng: false,
    resources: {},
    interpolation: { escapeValue: false },
    react: { useSuspense: false },
  });
  await load(locale);
  await i18next.changeLanguage(locale);
  document.documentElement.lang = locale === "zh" ? "zh-CN" : "en";
}

export async function setLocale(locale: Locale): Promise<void> {
  await load(locale);
  await i18next.changeLanguage(locale);
  document.documentElement.lang = locale === "zh" ? "zh-CN" : "en";
  setPrefs({ locale });
}

export function useLocale(): Locale {
  const { i18n } = useTranslation();
  return i18n.language === "zh" ? "zh" : "en";
}

/** Return a function that renders messages of the server in the user's language. */
export function useMessage(): (sentence: MessageLike | null | undefined) => string {
  const locale = useLocale();
  return useCallback((sentence) => messageText(sentence, catalogs[locale] ?? {}), [locale]);
}

/** Return a function that selects the user's language from a text in both languages. */
export function useLocalized(): (text: { en: string; zh: string } | string | null | undefined) => string {
  const locale = useLocale();
  return useCallback((text) => (typeof text === "string" ? text : (text?.[locale] ?? "")), [locale]);
}
