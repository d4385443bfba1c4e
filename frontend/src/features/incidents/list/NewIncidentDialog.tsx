import { Button, Select, TextInput } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import type { Incident } from "../../client/incidents";
import type { Diagnosis } from "../../client/types";
import { Dialog } from "../../components/Dialog";
import { ErrorLine } from "../../components/States";
import { scopeFits } from "../../core/scopes";
import { useDialogState } from "../../lib/dialogs";
import { incidentKeys } from "../../lib/incidents";
import { post, useAction, useDiagnosis } from "../../lib/queries";
import { useNames } from "../../lib/useNames";
import { HostFields } from "./HostFields";
import classes from "./Incidents.module.css";
import { draftOf, type HostDraft, hostBody, symptomBody, symptomFits } from "./incidentDraft";
import { PlaybookChoice } from "./PlaybookChoice";
import { SymptomFields } from "./SymptomFields";

const SEVERITIES = ["1", "2", "3", "4"] as const;
const UNKNOWN = "3";

/** What is wrong, where and since when. From a diagnosis it begins with what that found. */
export function NewIncidentDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const names = useNames();
  const [asked] = useDialogState();
  const diagnosis = useDiagnosis(asked.about).data;
  const [title, setTitle] = useState("");
  const [severity, setSeverity] = useState<string>(UNKNOWN);
  const [symptom, setSymptom] = useState(() => draftOf());
  const [hosts, setHosts] = useState<readonly HostDraft[]>(() =>
    asked.on.map((id) => ({ id, kind: "host", value: "", role: "suspect" })),
  );
  const [playbooks, setPlaybooks] = useState<readonly string[]>([]);
  const [once] = useState(() => crypto.randomUUID());
  const causes = diagnosis?.result?.causes.map((one) => one.id) ?? [];
  const [cause] = causes;
  const proposed =
    diagnosis && names.ready
      ? [diagnosis.host.name, cause ? names.cause(cause) : diagnosis.reason].filter(Boolean).join(": ")
      : "";
  useEffect(() => {
    if (proposed) setTitle((typed) => typed || proposed);
  }, [proposed]);
  useEffect(() => {
    if (!diagnosis) return;
    setHosts((chosen) => (chosen.length > 0 && chosen[0]?.kind !== "host" ? chosen : [hostOf(diagnosis)]));
    setSymptom((typed) => ({
      ...typed,
      says: typed.says || diagnosis.reason,
      since: typed.since || diagnosis.created_at,
    }));
  }, [diagnosis]);
  const fits =
    title.trim() !== "" &&
    symptomFits(symptom) &&
    hosts.every((one) => one.kind === "host" || scopeFits(one.kind, one.value.trim()));
  const open = useAction(
    () =>
      post<Incident>(
        "/incidents",
        {
          title: title.trim(),
          severity: Number(severity),
          symptom: symptomBody(symptom),
          ...(symptom.since ? { window_from: symptom.since } : {}),
          hosts: hosts.map(hostBody),
          playbooks: [...playbooks],
          ...(asked.about ? { diagnosis_id: asked.about } : {}),
        },
        once,
      ),
    [incidentKeys.all],
    (made) => void navigate({ to: "/incidents/$incidentId", params: { incidentId: made.id } }),
  );
  return (
    <Dialog onClose={onClose} title={t("incidents.new.title")} size="56rem">
      <form
        className={classes.form}
        onSubmit={(event) => {
          event.preventDefault();
          if (fits) open.mutate(undefined);
        }}
      >
        {diagnosis && (
          <p className={classes.hint}>{t("incidents.new.fromDiagnosis", { number: diagnosis.number })}</p>
        )}
        <div className={classes.titleRow}>
          <TextInput
            label={t("incidents.new.name")}
            placeholder={t("incidents.new.nameHint")}
            required
            maxLength={300}
            value={title}
            onChange={(event) => setTitle(event.currentTarget.value)}
            data-autofocus
          />
          <Select
            label={t("incidents.severity.label")}
            data={SEVERITIES.map((one) => ({
              value: one,
              label: `${one} · ${t(`incidents.severity.${one}`)}`,
            }))}
            value={severity}
            onChange={(value) => setSeverity(value ?? UNKNOWN)}
            allowDeselect={false}
          />
        </div>
        <SymptomFields value={symptom} onChange={setSymptom} />
        <HostFields hosts={hosts} onChange={setHosts} />
        <PlaybookChoice
          chosen={playbooks}
          onChange={setPlaybooks}
          words={`${title} ${symptom.says}`}
          causes={causes}
        />
        <ErrorLine error={open.error} />
        <div className={classes.bottom}>
          <Button variant="default" size="sm" onClick={onClose}>
            {t("action.cancel")}
          </Button>
          <Button type="submit" size="sm" disabled={!fits} loading={open.isPending}>
            {t("incidents.new.open")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

const hostOf = ({ host, scope }: Diagnosis): HostDraft => ({
  id: host.id,
  kind: (scope.kind as HostDraft["kind"] | undefined) ?? "host",
  value: scope.value ?? "",
  role: "suspect",
});
