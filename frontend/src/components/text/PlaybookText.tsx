import type { LocalizedText } from "../../client/models";
import { useLocalized } from "../../lib/text/i18n";
import { CodeSpans } from "./CodeSpans";

/** Render a text of a playbook, rule or cause in the user's language. Text between backticks is code. */
export function PlaybookText({ text }: { text: LocalizedText | null | undefined }) {
  return <CodeSpans text={useLocalized()(text)} />;
}
