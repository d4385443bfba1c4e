import { fillTemplate } from "./fillTemplate";
import type { MessageLike } from "./messages";

export type MessageTexts = Readonly<Record<string, string>>;

/** Fills `{name}` places; a place without a parameter stays visible rather than becoming a hole. */
export function fill(template: string, params: Readonly<Record<string, unknown>> = {}): string {
  return fillTemplate(template, (name) => params[name] ?? undefined);
}

/** The text of a server's sentence; an unknown key shows itself with its parameters. */
export function messageText(sentence: MessageLike | null | undefined, catalog: MessageTexts): string {
  if (!sentence) return "";
  const template = catalog[sentence.key];
  if (template !== undefined) return fill(template, sentence.params);
  const params = Object.entries(sentence.params ?? {}).map(([name, value]) => `${name}=${value}`);
  return params.length > 0 ? `${sentence.key} (${params.join(", ")})` : sentence.key;
}
