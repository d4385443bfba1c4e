import { Select, TextInput } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { TimeField } from "../../components/TimeField";
import { useWrite } from "../../lib/incidents";
import { ActForm } from "./ActForm";
import type { ActProps } from "./Acts";
import classes from "./Incidents.module.css";
import { draftOf, symptomBody } from "./incidentDraft";
import { SymptomFields } from "./SymptomFields";

/** Title, severity, symptom and window of an incident. */
export function EditDialog({ incident, onClose }: ActProps) {
  const { t } = useTranslation();
  const write = useWrite(incident, onClose, true);
  const [title, setTitle] = useState(incident.title);
  const [severity, setSeverity] = useState(String(incident.severity));
  const [symptom, setSymptom] = useState(() => draftOf(incident.symptom));
  const [from, setFrom] = useState(incident.window.from);
  const [to, setTo] = useState(incident.window.to ?? "");
  return (
    <ActForm
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
            symptom: symptomBody(symptom),
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
          data={(["1", "2", "3", "4"] as const).map((one) => ({
            value: one,
            label: `${one} · ${t(`incidents.severity.${one}`)}`,
          }))}
          value={severity}
          onChange={(value) => setSeverity(value ?? severity)}
          allowDeselect={false}
        />
      </div>
      <SymptomFields value={symptom} onChange={setSymptom} />
      <div className={classes.two}>
        <TimeField label={t("incidents.edit.from")} required value={from} onChange={setFrom} />
        <TimeField label={t("incidents.edit.to")} value={to} onChange={setTo} />
      </div>
    </ActForm>
  );
}
