// The texts of the interface and of the server in the user's language, as far as they are loaded.
import type { MessageTexts } from "../../core/text/messageText";
import type { TextTree } from "../../core/text/textTree";
import { loadFeatureTexts, loadServerTexts, loadStartTexts, TEXT_FEATURES } from "../../i18n/sources";

export type Locale = "en" | "zh";

/** A new object after each change of the texts, so that React renders again. */
export interface TextCatalog {
  readonly locale: Locale;
  /** Texts of the interface by key. */
  readonly texts: ReadonlyMap<string, string>;
  /** Texts of messages of the server by key, for each group of messages that is loaded. */
  readonly messages: Readonly<Record<string, MessageTexts>>;
}

let current: TextCatalog = { locale: "en", texts: new Map(), messages: {} };
const listeners = new Set<() => void>();
/** The language that was selected last, and the loading of its texts. */
let selected: Locale = "en";
let selection: Promise<void> = Promise.resolve();
/** Loading of the texts of each feature that was opened. A change of the language loads the texts of the same features. */
const features = new Map<string, Promise<void>>();
const messageGroups = new Set<string>();

export const getCatalog = (): TextCatalog => current;

export function subscribeToCatalog(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function publishCatalog(next: TextCatalog): void {
  current = next;
  for (const listener of listeners) listener();
}

/** Add the leaves of a tree to `texts`, under the keys of their paths. */
function flattenTree(tree: TextTree, texts: Map<string, string>, prefix = ""): void {
  for (const [name, value] of Object.entries(tree)) {
    if (typeof value === "string") texts.set(prefix + name, value);
    else flattenTree(value, texts, `${prefix}${name}.`);
  }
}

const flattenTrees = (trees: readonly TextTree[], before: ReadonlyMap<string, string> = new Map()) => {
  const texts = new Map(before);
  for (const tree of trees) flattenTree(tree, texts);
  return texts;
};

/** Load the texts of a language: those of all pages, and those of the features that were opened. */
export function selectLocale(locale: Locale): Promise<void> {
  selected = locale;
  selection = loadLocale(locale);
  return selection;
}

async function loadLocale(locale: Locale): Promise<void> {
  const [start, messages, ...others] = await Promise.all([
    loadStartTexts(locale),
    Promise.all(
      [...messageGroups].map(async (group) => [group, await loadServerTexts(group, locale)] as const),
    ),
    ...[...features.keys()].map((feature) => loadFeatureTexts(feature, locale)),
  ]);
  if (selected !== locale) return;
  publishCatalog({
    locale,
    texts: flattenTrees([...start, ...others]),
    messages: Object.fromEntries(messages),
  });
}

/** Load the texts of a feature, before its page or dialog is rendered. */
export function loadTextsOf(feature: string): Promise<void> {
  if (!TEXT_FEATURES.has(feature)) return Promise.resolve();
  const known = features.get(feature);
  if (known) return known;
  return startLoading([feature]);
}

function startLoading(names: readonly string[]): Promise<void> {
  const loading = addTexts(names);
  for (const name of names) features.set(name, loading);
  loading.catch(() => {
    for (const name of names) features.delete(name);
  });
  return loading;
}

/** Add the texts of features at once, because each change renders the page again. */
async function addTexts(names: readonly string[]): Promise<void> {
  const locale = selected;
  const trees = await Promise.all(names.map((name) => loadFeatureTexts(name, locale)));
  await selection;
  if (current.locale !== locale) return addTexts(names);
  publishCatalog({ ...current, texts: flattenTrees(trees, current.texts) });
}

/** Load the texts of all features, for what names pages and commands of each. */
export async function loadAllTexts(): Promise<void> {
  const missing = [...TEXT_FEATURES].filter((name) => !features.has(name));
  if (missing.length > 0) void startLoading(missing);
  await Promise.all(features.values());
}

/** Load the texts of a group of messages of the server, when the first of them is rendered. */
export async function loadMessageTexts(group: string): Promise<void> {
  if (messageGroups.has(group)) return;
  messageGroups.add(group);
  await addMessages(group);
}

async function addMessages(group: string): Promise<void> {
  const locale = selected;
  const texts = await loadServerTexts(group, locale);
  await selection;
  if (current.locale !== locale) return addMessages(group);
  publishCatalog({ ...current, messages: { ...current.messages, [group]: texts } });
}
