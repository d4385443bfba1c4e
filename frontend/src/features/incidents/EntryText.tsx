import type { JournalEntry } from "../../client/incidents";
import { useSentence } from "../../lib/i18n";

/** An entry of the journal as a sentence. */
export function EntryText({ entry }: { entry: Pick<JournalEntry, "kind" | "params"> }) {
  const sentence = useSentence();
  const key = entry.kind.startsWith("journal.") ? entry.kind : `journal.${entry.kind}`;
  return <>{sentence({ key, params: entry.params })}</>;
}
