import { Select, TextInput } from "@mantine/core";
import { useState } from "react";
import { TimeField } from "../../../components/fields/TimeField";
import { useIncidentWrite } from "../../../lib/incidents/incidents";
import { useTranslation } from "../../../lib/text/useTranslation";
import { toSymptomBody, toSymptomDraft } from "../list/incidentDraft";
import { SymptomFields } from "../list/SymptomFields";
import classes from "../page/Incidents.module.css";
import { IncidentForm } from "./IncidentForm";
import type { IncidentDialogProps } from "./types";

/** Dialog that edits title, severity, symptom and time window of an incident. */
export function EditDialog({ incident, onClose }: IncidentDialogProps) {
  const { t } = useTranslation();
  const write = useIncidentWrite(incident, onClose, true);
  const [title, setTitle] = useState(incident.title);
  const [severity, setSeverity] = useState(String(incident.severity));
  const [symptom, setSymptom] = useState(() => toSymptomDraft(incident.symptom));
  const [from, setFrom] = useState(incident.window.from);
  const [to, setTo] = useState(incident.window.to ?? "");
  return (
    <IncidentForm
      incident={incident}
      write={write}
      title={t("incidents.edit.title")}
      submit={t("action.save")}
      size="52rem"
      ready={title.trim() !== "" && from !== ""}
      onSubmit={() =>
        write.send({
          method: "PATCH",
          path: "",
          body: {
            title: title.trim(),
            severity: Number(severity),
            symptom: toSymptomBody(symptom),
            window_from: from,
            window_to: to || null,
          },
        })
      }
      onClose={onClose}
    >
      <div className={classes.titleRow}>
        <TextInput
          label={t("incidents.new.name")}
          required
          value={title}
          onChange={(event) => setTitle(event.currentTarget.value)}
        />
        <Select
          label={t("incidents.severity.label")}
          data={(["1", "2", "3", "4"] as const).map((item) => ({
            value: item,
            label: `${item} · ${t(`incidents.severity.${item}`)}`,
          }))}
          value={severity}
          onChange={(value) => setSeverity(value ?? severity)}
          allowDeselect={false}
        />
      </div>
      <SymptomFields value={symptom} onChange={setSymptom} />
      <div className={classes.twoColumns}>
        <TimeField label={t("incidents.edit.from")} required value={from} onChange={setFrom} />
        <TimeField label={t("incidents.edit.to")} value={to} onChange={setTo} />
      </div>
    </IncidentForm>
  );
}
