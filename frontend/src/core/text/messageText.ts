import { fillTemplate } from "./fillTemplate";
import type { MessageLike } from "./messages";

export type MessageTexts = Readonly<Record<string, string>>;

/** Fill the `{name}` placeholders of a template. A placeholder without a parameter stays in the text. */
export function fillPlaceholders(template: string, params: Readonly<Record<string, unknown>> = {}): string {
  return fillTemplate(template, (name) => params[name] ?? undefined);
}

/** Return the text of a message of the server. For an unknown key, return the key and its parameters. */
export function messageText(sentence: MessageLike | null | undefined, catalog: MessageTexts): string {
  if (!sentence) return "";
  const template = catalog[sentence.key];
  if (template !== undefined) return fillPlaceholders(template, sentence.params);
  const params = Object.entries(sentence.params ?? {}).map(([name, value]) => `${name}=${value}`);
  return params.length > 0 ? `${sentence.key} (${params.join(", ")})` : sentence.key;
}
