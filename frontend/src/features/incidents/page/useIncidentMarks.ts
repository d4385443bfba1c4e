import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import type { Incident, JournalEntry } from "../../client/incidents";
import { isoToNs } from "../../core/clock";
import { useJournal } from "../../lib/incidents";
import type { TimeMark } from "../../renderers/timeline/MarkStrip";
import { entrySentence, useWords } from "./useWords";
import type { IncidentView } from "./view";

const SHOWN = /verdict|note/;

/** What people did, as marks on the time of the host: since when it hurts, fixes, verdicts, notes. */
export function useMarks(incident: Incident, view: IncidentView, pollMs: number | false): TimeMark[] {
  const { t } = useTranslation();
  const words = useWords(incident);
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
    add("symptom", symptom.since, "symptom", symptom.says || t("incidents.chain.symptom"), toJournal);
    for (const fix of fixes)
      if (hostId === undefined || fix.hosts.length === 0 || fix.hosts.includes(hostId))
        add(fix.id, fix.applied_at, "fix", `${t("incidents.chain.fix")}: ${fix.what}`, () =>
          set({ pane: "fixes", what: fix.id }, { push: true }),
        );
    const text = (one: JournalEntry) => one.note || words(entrySentence(one));
    for (const one of journal ?? [])
      if (SHOWN.test(one.kind))
        add(one.id, one.at, one.kind.includes("note") ? "note" : "verdict", text(one), toJournal);
    return out;
  }, [symptom, fixes, hostId, set, journal, words, t]);
}
