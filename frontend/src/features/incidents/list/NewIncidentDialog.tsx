import { Button, Select, TextInput } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import type { Diagnosis } from "../../../client/models";
import { Dialog } from "../../../components/Dialog";
import { ErrorLine } from "../../../components/EmptyState";
import { isScopeValueValid } from "../../../core/hosts/scopes";
import { useDialogState } from "../../../lib/dialogs";
import { incidentKeys } from "../../../lib/incidents/incidents";
import { post, useAction, useDiagnosis } from "../../../lib/queries";
import { useNames } from "../../../lib/text/useNames";
import { useTranslation } from "../../../lib/text/useTranslation";
import classes from "../page/Incidents.module.css";
import { HostFields } from "./HostFields";
import { type HostDraft, isSymptomValid, toHostBody, toSymptomBody, toSymptomDraft } from "./incidentDraft";
import { PlaybookSelect } from "./PlaybookSelect";
import { SymptomFields } from "./SymptomFields";

const SEVERITIES = ["1", "2", "3", "4"] as const;
const DEFAULT_SEVERITY = "3";

/** Dialog that creates an incident. A diagnosis fills in its host, cause and reason. */
export function NewIncidentDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const names = useNames();
  const [dialog] = useDialogState();
  const diagnosis = useDiagnosis(dialog.about).data;
  const [title, setTitle] = useState("");
  const [severity, setSeverity] = useState<string>(DEFAULT_SEVERITY);
  const [symptom, setSymptom] = useState(() => toSymptomDraft());
  const [hosts, setHosts] = useState<readonly HostDraft[]>(() =>
    dialog.on.map((id) => ({ id, kind: "host", value: "", role: "suspect" })),
  );
  const [playbooks, setPlaybooks] = useState<readonly string[]>([]);
  const [once] = useState(() => crypto.randomUUID());
  const causes = diagnosis?.result?.causes.map((namedCause) => namedCause.id) ?? [];
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
    setHosts((chosen) => (chosen.length > 0 && chosen[0]?.kind !== "host" ? chosen : [hostIdOf(diagnosis)]));
    setSymptom((typed) => ({
      ...typed,
      description: typed.description || diagnosis.reason,
      since: typed.since || diagnosis.created_at,
    }));
  }, [diagnosis]);
  const fits =
    title.trim() !== "" &&
    isSymptomValid(symptom) &&
    hosts.every(
      (hostDraft) => hostDraft.kind === "host" || isScopeValueValid(hostDraft.kind, hostDraft.value.trim()),
    );
  const open = useAction(
    () =>
      post(
        "/incidents",
        {
          title: title.trim(),
          severity: Number(severity),
          symptom: toSymptomBody(symptom),
          ...(symptom.since ? { window_from: symptom.since } : {}),
          hosts: hosts.map(toHostBody),
          playbooks: [...playbooks],
          ...(dialog.about ? { diagnosis_id: dialog.about } : {}),
        },
        once,
      ),
    [incidentKeys.all],
    (incident) => void navigate({ to: "/incidents/$incidentId", params: { incidentId: incident.id } }),
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
            data={SEVERITIES.map((severity) => ({
              value: severity,
              label: `${severity} · ${t(`incidents.severity.${severity}`)}`,
            }))}
            value={severity}
            onChange={(value) => setSeverity(value ?? DEFAULT_SEVERITY)}
            allowDeselect={false}
          />
        </div>
        <SymptomFields value={symptom} onChange={setSymptom} />
        <HostFields hosts={hosts} onChange={setHosts} />
        <PlaybookSelect
          chosen={playbooks}
          onChange={setPlaybooks}
          symptomText={`${title} ${symptom.description}`}
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

const hostIdOf = ({ host, scope }: Diagnosis): HostDraft => ({
  id: host.id,
  kind: (scope.kind as HostDraft["kind"] | undefined) ?? "host",
  value: scope.value ?? "",
  role: "suspect",
});
