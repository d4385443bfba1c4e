import i18next from "i18next";
import { useCallback } from "react";
import { initReactI18next, useTranslation } from "react-i18next";
import { type Catalogue, sentenceText } from "../core/sentence";
import type { Sentence } from "../core/words";
import type en from "../i18n/en.json";
import { prefs, setPrefs } from "./prefs";

export type Locale = "en" | "zh";

declare module "i18next" {
  interface CustomTypeOptions {
    defaultNS: "translation";
    resources: { translation: typeof en };
  }
}

const SOURCES: Record<Locale, () => Promise<[{ default: object }, { default: object }]>> = {
  en: () => Promise.all([import("../i18n/en.json"), import("../i18n/server.en.json")]),
  zh: () => Promise.all([import("../i18n/zh.json"), import("../i18n/server.zh.json")]),
};

const catalogues: Partial<Record<Locale, Catalogue>> = {};

async function load(locale: Locale): Promise<void> {
  if (catalogues[locale]) return;
  const [ui, server] = await SOURCES[locale]();
  i18next.addResourceBundle(locale, "translation", ui.default, true, true);
  catalogues[locale] = server.default as Catalogue;
}

/** Loads the reader's language, and only that one, before the first paint. */
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

/** Turns the server's sentences into text of the reader's language. */
export function useSentence(): (sentence: Sentence | null | undefined) => string {
  const locale = useLocale();
  return useCallback((sentence) => sentenceText(sentence, catalogues[locale] ?? {}), [locale]);
}

/** Picks the reader's language out of a text that comes in both. */
export function usePick(): (text: { en: string; zh: string } | string | null | undefined) => string {
  const locale = useLocale();
  return useCallback((text) => (typeof text === "string" ? text : (text?.[locale] ?? "")), [locale]);
}
