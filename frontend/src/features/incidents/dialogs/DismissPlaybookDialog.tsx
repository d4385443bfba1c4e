import { Textarea } from "@mantine/core";
import { useState } from "react";
import { playbookIdOf } from "../../../core/incidents/chain";
import { useIncidentWrite } from "../../../lib/incidents/incidents";
import { useLocalized } from "../../../lib/text/i18n";
import { useTranslation } from "../../../lib/text/useTranslation";
import classes from "../page/Incidents.module.css";
import { IncidentForm } from "./IncidentForm";
import type { IncidentDialogProps } from "./types";

/** Dialog that dismisses a playbook; it lists the open steps that are skipped. */
export function DismissPlaybookDialog({ incident, view, onClose }: IncidentDialogProps) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const [reason, setReason] = useState("");
  const write = useIncidentWrite(incident, onClose, true);
  const book = incident.playbooks.find((playbook) => playbook.id === view.what);
  if (!book) return null;
  const open = incident.gaps.filter((key) => playbookIdOf(key) === book.id);
  return (
    <IncidentForm
      incident={incident}
      write={write}
      title={t("incidents.dismissal.title")}
      submit={t("incidents.dismissal.button")}
      ready={reason.trim().length > 0}
      onSubmit={() =>
        write.send({
          method: "PATCH",
          path: `/playbooks/${book.id}`,
          body: { dismissed: true, reason: reason.trim() },
        })
      }
      onClose={onClose}
    >
      <p className={classes.summary}>{localize(book.title)}</p>
      <p className={classes.hint}>{t("incidents.dismissal.text")}</p>
      {open.length > 0 && (
        <ul className={classes.changes} aria-label={t("incidents.refusal.steps")}>
          {open.map((key) => (
            <li key={key}>{localize(incident.steps.find((step) => step.key === key)?.question)}</li>
          ))}
        </ul>
      )}
      <Textarea
        label={t("captures.reason")}
        value={reason}
        onChange={(event) => setReason(event.currentTarget.value)}
        autosize
        minRows={2}
        data-autofocus
      />
    </IncidentForm>
  );
}
