import { Textarea } from "@mantine/core";
import { useState } from "react";
import { useIncidentWrite } from "../../../lib/incidents/incidents";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { IncidentState } from "../api";
import { INCIDENT_STATES } from "../api";
import classes from "../page/Incidents.module.css";
import { IncidentForm } from "./IncidentForm";
import type { IncidentDialogProps } from "./types";

/** Dialog that changes the state of an incident. A return to an earlier state requires a reason. */
export function StateDialog({ incident, view, onClose }: IncidentDialogProps) {
  const { t } = useTranslation();
  const write = useIncidentWrite(incident, onClose);
  const [reason, setReason] = useState("");
  const to = INCIDENT_STATES.find((incidentState) => incidentState === view.what) as
    | IncidentState
    | undefined;
  if (!to) return null;
  const back = INCIDENT_STATES.indexOf(to) < INCIDENT_STATES.indexOf(incident.state);
  return (
    <IncidentForm
      incident={incident}
      write={write}
      title={back ? t("incidents.backTo", { state: t(`incidents.state.${to}`) }) : t(`incidents.to.${to}`)}
      submit={back ? t("incidents.goBack") : t(`incidents.to.${to}`)}
      ready={!back || reason.trim() !== ""}
      onSubmit={() =>
        write.send({
          method: "PATCH",
          path: "",
          body: { state: to, ...(reason.trim() ? { reason: reason.trim() } : {}) },
        })
      }
      onClose={onClose}
      onStep={(key) => view.set({ dialog: "", what: "", step: key, pane: "evidence" })}
    >
      <p className={classes.summary}>{t(back ? "incidents.backText" : `incidents.needs.${to}`)}</p>
      {back && (
        <Textarea
          label={t("captures.reason")}
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value)}
          autosize
          minRows={2}
          data-autofocus
        />
      )}
    </IncidentForm>
  );
}
