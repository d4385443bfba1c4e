import { Button } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { Incident } from "../../client/incidents";
import { Ago } from "../../components/Ago";
import { useJournal, type Writing } from "../../lib/incidents";
import classes from "./Incidents.module.css";
import { entrySentence, useWords } from "./useWords";

/** Somebody was faster: what they changed, and the way to send one's own on top of it. Nothing typed is lost. */
export function Conflict({ incident, write }: { incident: Incident; write: Writing }) {
  if (!write.conflict) return null;
  return <Told incident={incident} write={write} />;
}

function Told({ incident, write }: { incident: Incident; write: Writing }) {
  const { t } = useTranslation();
  const words = useWords(incident);
  const journal = useJournal(incident.id);
  const since = (journal.data ?? []).filter((one) => one.version > write.since);
  return (
    <div className={classes.conflict} role="alert">
      <p className={classes.conflictTitle}>{words(write.conflict?.sentence)}</p>
      {since.length > 0 && (
        <ul className={classes.changes}>
          {since.map((one) => (
            <li key={one.id}>
              {words(entrySentence(one))}
              {one.note && <q>{one.note}</q>}{" "}
              <span className="dim">
                {one.by?.name ?? "Culprit"}, <Ago at={one.at} />
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
