import { useMemo } from "react";
import type { Incident, JournalEntry } from "../../../client/models";
import { isoToNs } from "../../../core/time/clock";
import { useJournal } from "../../../lib/incidents/incidents";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { TimeMark } from "../../../widgets/timeline/marks/MarkStrip";
import { toEntryMessage, useIncidentText } from "./useIncidentText";
import type { IncidentView } from "./useIncidentView";

const MARKED_KINDS = /verdict|note/;

/** Return timeline marks of an incident: start of the symptom, applied fixes, verdicts and notes. */
export function useIncidentMarks(incident: Incident, view: IncidentView, pollMs: number | false): TimeMark[] {
  const { t } = useTranslation();
  const words = useIncidentText(incident);
  const journal = useJournal(incident.id, pollMs).data;
  const { symptom, fixes } = incident;
  const { host, set } = view;
  const hostId = host?.id;
  return useMemo(() => {
    const out: TimeMark[] = [];
    const add = (id: string, at: string | null, kind: TimeMark["kind"], text: string, onOpen: () => void) => {
      const t_ns = isoToNs(at);
      if (t_ns !== undefined) out.push({ id, t_ns, kind, text, onOpen });
    };
    const toJournal = () => set({ pane: "journal" }, { push: true });
    add(
      "symptom",
      symptom.since ?? null,
      "symptom",
      symptom.description || t("incidents.chain.symptom"),
      toJournal,
    );
    for (const fix of fixes)
      if (hostId === undefined || fix.hosts.length === 0 || fix.hosts.includes(hostId))
        add(fix.id, fix.applied_at, "fix", `${t("incidents.chain.fix")}: ${fix.what}`, () =>
          set({ pane: "fixes", what: fix.id }, { push: true }),
        );
    const text = (entry: JournalEntry) => entry.note || words(toEntryMessage(entry));
    for (const entry of journal ?? [])
      if (MARKED_KINDS.test(entry.kind))
        add(entry.id, entry.at, entry.kind.includes("note") ? "note" : "verdict", text(entry), toJournal);
    return out;
  }, [symptom, fixes, hostId, set, journal, words, t]);
}
