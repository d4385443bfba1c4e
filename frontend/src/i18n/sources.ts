// Where the texts are: the common ones are one file that each page loads, those of a feature are loaded with its pages.
import type { MessageTexts } from "../core/text/messageText";
import type { TextTree } from "../core/text/textTree";
import groups from "./server.groups.json";

type Load<T> = () => Promise<T>;

const START: Record<"en" | "zh", Load<{ texts: readonly TextTree[] }>> = {
  en: () => import("./startTexts.en"),
  zh: () => import("./startTexts.zh"),
};
/** Messages of the server: what pages of incidents and of runs display, and the answers to requests of forms. */
const SERVER = import.meta.glob<MessageTexts>("./server.*.{en,zh}.json", { import: "default" });
const FEATURES = import.meta.glob<TextTree>(
  ["../features/*/i18n/*.json", "!../features/{sign-in,kill-switch}/i18n/*.json"],
  { import: "default" },
);
const GROUPS: Readonly<Record<string, string>> = groups;

const NAME = /features\/([^/]+)\/i18n\//;

/** Folders of features that have texts. */
export const TEXT_FEATURES: ReadonlySet<string> = new Set(
  Object.keys(FEATURES).map((path) => NAME.exec(path)?.[1] ?? ""),
);

/** Return the texts of all pages: common words, shell and widgets. */
export const loadStartTexts = async (locale: "en" | "zh"): Promise<readonly TextTree[]> =>
  (await START[locale]()).texts;

/** Return the texts of a feature, or an empty tree if it has none. */
export const loadFeatureTexts = async (feature: string, locale: "en" | "zh"): Promise<TextTree> =>
  (await FEATURES[`../features/${feature}/i18n/${locale}.json`]?.()) ?? {};

/** Return the group of a message of the server, by the area at the begin of its key. */
export const findMessageGroup = (key: string): string => GROUPS[key.split(".", 1)[0] ?? ""] ?? "requests";

/** Return the texts of a group of messages of the server. */
export const loadServerTexts = async (group: string, locale: "en" | "zh"): Promise<MessageTexts> =>
  (await SERVER[`./server.${group}.${locale}.json`]?.()) ?? {};
