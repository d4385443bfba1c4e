import { Textarea } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Incident, IncidentStep } from "../../client/incidents";
import { bookOf } from "../../core/chain";
import { usePick } from "../../lib/i18n";
import { useWrite } from "../../lib/incidents";
import { ActForm } from "./ActForm";
import type { ActProps } from "./Acts";
import classes from "./Evidence.module.css";
import { StepChoice } from "./OpenSteps";

/** Leaves a step unanswered, on purpose and with a reason; other open steps of its playbook go along where they are ticked. */
export function WaiveDialog({ incident, view, onClose }: ActProps) {
  const { t } = useTranslation();
  const pick = usePick();
  const [reason, setReason] = useState("");
  const write = useWrite(incident, onClose, true);
  const { step } = view;
  const [more, setMore] = useState<readonly string[]>([]);
  const others = incident.gaps.filter((key) => key !== step?.key && bookOf(key) === step?.playbook);
  const steps = [...(step ? [step.key] : []), ...more.filter((key) => others.includes(key))];
  return (
    <ActForm
      incident={incident}
      write={write}
      title={t("incidents.step.waive")}
      submit={t("incidents.step.waiveCount", { count: steps.length })}
      ready={step !== undefined && reason.trim().length > 0}
      onSubmit={() =>
        write.send({ method: "POST", path: "/waivers", body: { steps, reason: reason.trim() } })
      }
      onClose={onClose}
    >
      <p className={classes.asks}>{pick(step?.asks)}</p>
      {others.length > 0 && (
        <>
          <p className={classes.about}>{t("incidents.step.waiveMore")}</p>
          <StepChoice incident={incident} steps={others} chosen={more} onChange={setMore} />
        </>
      )}
      <Textarea
        label={t("incidents.step.waiveReason")}
        description={t("incidents.step.waiveText")}
        value={reason}
        onChange={(event) => setReason(event.currentTarget.value)}
        autosize
        minRows={2}
        data-autofocus
      />
    </ActForm>
  );
}

/** That a step was left unanswered on purpose, why, and by whom. */
export function Waived({ incident, step }: { incident: Incident; step: IncidentStep }) {
  const { t } = useTranslation();
  if (!step.waived) return null;
  return (
    <p className={classes.waived}>
      {t("incidents.step.waivedBy", {
        name: step.waived.by?.name ?? incident.origin?.said_by[step.key] ?? "–",
        reason: step.waived.reason,
      })}
    </p>
  );
}
