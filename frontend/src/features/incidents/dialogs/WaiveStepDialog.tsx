import { Textarea } from "@mantine/core";
import { useState } from "react";
import { playbookIdOf } from "../../../core/incidents/chain";
import { useIncidentWrite } from "../../../lib/incidents/incidents";
import { useLocalized } from "../../../lib/text/i18n";
import { useTranslation } from "../../../lib/text/useTranslation";
import classes from "../evidence/Evidence.module.css";
import { IncidentForm } from "./IncidentForm";
import { StepCheckboxes } from "./OpenStepsPanel";
import type { IncidentDialogProps } from "./types";

/** Dialog that waives a step with a reason, and optionally other open steps of its playbook. */
export function WaiveStepDialog({ incident, view, onClose }: IncidentDialogProps) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const [reason, setReason] = useState("");
  const write = useIncidentWrite(incident, onClose, true);
  const { step } = view;
  const [more, setMore] = useState<readonly string[]>([]);
  const others = incident.gaps.filter((key) => key !== step?.key && playbookIdOf(key) === step?.playbook);
  const steps = [...(step ? [step.key] : []), ...more.filter((key) => others.includes(key))];
  return (
    <IncidentForm
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
      <p className={classes.question}>{localize(step?.question)}</p>
      {others.length > 0 && (
        <>
          <p className={classes.about}>{t("incidents.step.waiveMore")}</p>
          <StepCheckboxes incident={incident} steps={others} chosen={more} onChange={setMore} />
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
    </IncidentForm>
  );
}
