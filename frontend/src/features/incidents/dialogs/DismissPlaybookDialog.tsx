import { Textarea } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Incident } from "../../client/incidents";
import { Tag } from "../../components/Mark";
import { bookOf } from "../../core/chain";
import { usePick } from "../../lib/i18n";
import { useWrite } from "../../lib/incidents";
import { ActForm } from "./ActForm";
import type { ActProps } from "./Acts";
import classes from "./Incidents.module.css";

/** Sets a playbook aside with all that it still asks; what that is, is listed. */
export function AsideDialog({ incident, view, onClose }: ActProps) {
  const { t } = useTranslation();
  const pick = usePick();
  const [reason, setReason] = useState("");
  const write = useWrite(incident, onClose, true);
  const book = incident.playbooks.find((one) => one.id === view.what);
  if (!book) return null;
  const open = incident.gaps.filter((key) => bookOf(key) === book.id);
  return (
    <ActForm
      incident={incident}
      write={write}
      title={t("incidents.aside.title")}
      submit={t("incidents.aside.button")}
      ready={reason.trim().length > 0}
      onSubmit={() =>
        write.send({
          method: "PATCH",
          path: `/playbooks/${book.id}`,
          body: { aside: true, reason: reason.trim() },
        })
      }
      onClose={onClose}
    >
      <p className={classes.says}>{pick(book.title)}</p>
      <p className={classes.hint}>{t("incidents.aside.text")}</p>
      {open.length > 0 && (
        <ul className={classes.changes} aria-label={t("incidents.refusal.steps")}>
          {open.map((key) => (
            <li key={key}>{pick(incident.steps.find((one) => one.key === key)?.asks)}</li>
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
    </ActForm>
  );
}

/** That a playbook is not asked any more, and why. */
export function PlayTag({ playbook }: { playbook: Incident["playbooks"][number] | undefined }) {
  const { t } = useTranslation();
  if (!playbook || playbook.play === "asked") return null;
  const why = playbook.aside
    ? t("incidents.aside.by", { name: playbook.aside.by?.name ?? "–", reason: playbook.aside.reason })
    : t("incidents.aside.refutedText");
  return <Tag title={why}>{t(`incidents.aside.play.${playbook.play}`)}</Tag>;
}
