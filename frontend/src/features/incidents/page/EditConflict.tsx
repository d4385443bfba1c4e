import { Button } from "@mantine/core";
import type { Incident } from "../../../client/models";
import { RelativeTime } from "../../../components/text/RelativeTime";
import { type IncidentWrite, useJournal } from "../../../lib/incidents/incidents";
import { useTranslation } from "../../../lib/text/useTranslation";
import classes from "./Incidents.module.css";
import { toEntryMessage, useIncidentText } from "./useIncidentText";

/** Conflict with another user's edit: lists that edit and offers to apply the current input to the new version. */
export function EditConflict({ incident, write }: { incident: Incident; write: IncidentWrite }) {
  if (!write.conflict) return null;
  return <ConflictDetails incident={incident} write={write} />;
}

function ConflictDetails({ incident, write }: { incident: Incident; write: IncidentWrite }) {
  const { t } = useTranslation();
  const words = useIncidentText(incident);
  const journal = useJournal(incident.id);
  const since = (journal.data ?? []).filter((entry) => entry.version > write.since);
  return (
    <div className={classes.conflict} role="alert">
      <p className={classes.conflictTitle}>{words(write.conflict?.sentence)}</p>
      {since.length > 0 && (
        <ul className={classes.changes}>
          {since.map((entry) => (
            <li key={entry.id}>
              {words(toEntryMessage(entry))}
              {entry.note && <q>{entry.note}</q>}{" "}
              <span className="dim">
                {entry.by?.name ?? "Culprit"}, <RelativeTime at={entry.at} />
              </span>
            </li>
          ))}
        </ul>
      )}
      <Button size="compact-sm" variant="default" loading={write.pending} onClick={write.again}>
        {t("incidents.conflict.again")}
      </Button>{" "}
      <span className="dim">{t("incidents.conflict.kept")}</span>
    </div>
  );
}
