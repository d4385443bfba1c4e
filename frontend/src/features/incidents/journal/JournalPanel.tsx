import { Button, Textarea } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Incident } from "../../client/incidents";
import { Empty, ErrorLine, Loaded, RowSkeleton } from "../../components/States";
import { useJournal, useWrite } from "../../lib/incidents";
import { useTimeFormat } from "../../lib/useFormat";
import { Conflict } from "./Conflict";
import classes from "./Journal.module.css";
import { entrySentence, useWords } from "./useWords";

/** What happened in this incident, newest first, and the place to write something down. It grows while one looks. */
export function Journal({ incident, pollMs }: { incident: Incident; pollMs: number | false }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const words = useWords(incident);
  const query = useJournal(incident.id, pollMs);
  return (
    <div className={classes.journal}>
      {incident.may.edit && <Note incident={incident} />}
      <Loaded query={query} skeleton={<RowSkeleton rows={6} height={40} />}>
        {(entries) =>
          entries.length === 0 ? (
            <Empty title={t("incidents.journal.none")} />
          ) : (
            <ol className={classes.entries} aria-live="polite">
              {[...entries]
                .sort((a, b) => b.version - a.version)
                .map((one) => (
                  <li key={one.id} className={classes.entry}>
                    <time className="num dim" dateTime={one.at} title={time.zoneName}>
                      {time.iso(one.at)}
                    </time>
                    <span className={classes.who}>{one.by?.name ?? "Culprit"}</span>
                    <span className={classes.text}>
                      {words(entrySentence(one))}
                      {one.params.reason && ` · ${words(one.params.reason)}`}
                      {one.note && <q className={classes.note}>{one.note}</q>}
                    </span>
                  </li>
                ))}
            </ol>
          )
        }
      </Loaded>
    </div>
  );
}

function Note({ incident }: { incident: Incident }) {
  const { t } = useTranslation();
  const [text, setText] = useState("");
  const write = useWrite(incident, () => setText(""));
  const send = () =>
    text.trim() && write.send({ method: "POST", path: "/notes", body: { note: text.trim() } });
  return (
    <form
      className={classes.write}
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
        <Conflict incident={incident} write={write} />
      </div>
    </form>
  );
}
