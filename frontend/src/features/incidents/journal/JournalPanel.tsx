import { Button, Textarea } from "@mantine/core";
import { useState } from "react";
import type { Incident } from "../../../client/models";
import { EmptyState, ErrorLine, QueryContent, RowSkeleton } from "../../../components/EmptyState";
import { useIncidentWrite, useJournal } from "../../../lib/incidents/incidents";
import { useTimeFormat } from "../../../lib/text/useFormat";
import { useTranslation } from "../../../lib/text/useTranslation";
import { EditConflict } from "../page/EditConflict";
import { toEntryMessage, useIncidentText } from "../page/useIncidentText";
import classes from "./Journal.module.css";

/** Journal of the incident, newest entry first, with a form for notes. It polls for new entries. */
export function JournalPanel({ incident, pollMs }: { incident: Incident; pollMs: number | false }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const words = useIncidentText(incident);
  const query = useJournal(incident.id, pollMs);
  return (
    <div className={classes.journal}>
      {incident.permissions.edit && <NoteForm incident={incident} />}
      <QueryContent query={query} skeleton={<RowSkeleton rows={6} height={40} />}>
        {(entries) =>
          entries.length === 0 ? (
            <EmptyState title={t("incidents.journal.none")} />
          ) : (
            <ol className={classes.entries} aria-live="polite">
              {[...entries]
                .sort((a, b) => b.version - a.version)
                .map((entry) => (
                  <li key={entry.id} className={classes.entry}>
                    <time className="num dim" dateTime={entry.at} title={time.zoneName}>
                      {time.iso(entry.at)}
                    </time>
                    <span className={classes.author}>{entry.by?.name ?? "Culprit"}</span>
                    <span className={classes.text}>
                      {words(toEntryMessage(entry))}
                      {typeof entry.params.reason === "object" && ` · ${words(entry.params.reason)}`}
                      {entry.note && <q className={classes.note}>{entry.note}</q>}
                    </span>
                  </li>
                ))}
            </ol>
          )
        }
      </QueryContent>
    </div>
  );
}

function NoteForm({ incident }: { incident: Incident }) {
  const { t } = useTranslation();
  const [text, setText] = useState("");
  const write = useIncidentWrite(incident, () => setText(""));
  const send = () =>
    text.trim() && write.send({ method: "POST", path: "/notes", body: { note: text.trim() } });
  return (
    <form
      className={classes.noteForm}
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <Textarea
        aria-label={t("incidents.journal.note")}
        placeholder={t("incidents.journal.note")}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) send();
        }}
        autosize
        minRows={1}
        maxRows={8}
      />
      <Button type="submit" size="sm" variant="default" disabled={!text.trim()} loading={write.pending}>
        {t("incidents.journal.add")}
      </Button>
      <div className={classes.errors}>
        <ErrorLine error={write.error} />
        <EditConflict incident={incident} write={write} />
      </div>
    </form>
  );
}
