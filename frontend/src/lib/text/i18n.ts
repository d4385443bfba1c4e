import { useCallback, useSyncExternalStore } from "react";
import type { MessageLike } from "../../core/text/messages";
import { messageText } from "../../core/text/messageText";
import { findMessageGroup } from "../../i18n/sources";
import { prefs, setPrefs } from "../prefs";
import {
  getCatalog,
  type Locale,
  loadMessageTexts,
  selectLocale,
  subscribeToCatalog,
  type TextCatalog,
} from "./catalog";

export type { Locale } from "./catalog";

async function changeLocale(locale: Locale): Promise<void> {
  await selectLocale(locale);
  document.documentElement.lang = locale === "zh" ? "zh-CN" : "en";
}

/** Load the texts of the user's language before the first paint. The other language is not loaded. */
export const startI18n = (locale: Locale = prefs().locale): Promise<void> => changeLocale(locale);

export async function setLocale(locale: Locale): Promise<void> {
  await changeLocale(locale);
  setPrefs({ locale });
}

/** Return the loaded texts; renders again when they change. */
export const useCatalog = (): TextCatalog => useSyncExternalStore(subscribeToCatalog, getCatalog);

export const useLocale = (): Locale => useCatalog().locale;

/**
 * Return a function that renders messages of the server in the user's language. Before their texts are loaded, it
 * returns an empty text and loads them.
 */
export function useMessage(): (sentence: MessageLike | null | undefined) => string {
  const { messages } = useCatalog();
  return useCallback(
    (sentence) => {
      if (!sentence) return "";
      const group = findMessageGroup(sentence.key);
      const texts = messages[group];
      if (texts) return messageText(sentence, texts);
      void loadMessageTexts(group);
      return "";
    },
    [messages],
  );
}

/** Return a function that selects the user's language from a text in both languages. */
export function useLocalized(): (text: { en: string; zh: string } | string | null | undefined) => string {
  const locale = useLocale();
  return useCallback((text) => (typeof text === "string" ? text : (text?.[locale] ?? "")), [locale]);
}
