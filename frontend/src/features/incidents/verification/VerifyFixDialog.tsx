import { Button, NumberInput, SegmentedControl, Select } from "@mantine/core";
import { useState } from "react";
import { useWrite } from "../../../lib/incidents/incidents";
import { useNumberName } from "../../../lib/text/useNumberName";
import { useTranslation } from "../../../lib/text/useTranslation";
import { IncidentForm } from "../dialogs/IncidentForm";
import type { IncidentDialogProps } from "../dialogs/types";
import classes from "../page/Incidents.module.css";

const KINDS = ["plain", "control", "cohort"] as const;
const DEFAULT_MINIMUM_CHANGE_PCT = 10;
/** The smallest number of hosts that makes a cohort meaningful. */
const MIN_COHORT = 3;

/** How a fix is judged: by which number, against what bar, with a host that was left alone or without; and what runs. */
export function VerifyFixDialog({ incident, view, onClose }: IncidentDialogProps) {
  const { t } = useTranslation();
  const numberName = useNumberName();
  const write = useWrite(incident, () => view.set({ dialog: "", pane: "fixes", what: view.what }), true);
  const fix = incident.fixes.find((fix) => fix.id === view.what) ?? incident.fixes.at(-1);
  const changed = new Set(fix?.hosts);
  const controls = incident.hosts
    .filter((host) => host.role === "control" && !changed.has(host.id))
    .map((host) => host.id);
  const [kind, setKind] = useState<(typeof KINDS)[number]>(
    changed.size >= MIN_COHORT ? "cohort" : controls.length > 0 ? "control" : "plain",
  );
  const [control, setControl] = useState<string | null>(controls[0] ?? null);
  const [bar, setBar] = useState<number | string>(DEFAULT_MINIMUM_CHANGE_PCT);
  const others = incident.hosts.filter((host) => !changed.has(host.id));
  const few = kind === "cohort" && changed.size < MIN_COHORT;
  const primary = incident.hypotheses.find((hypothesis) => hypothesis.id === fix?.hypothesis_id)?.primary;
  return (
    <IncidentForm
      incident={incident}
      write={write}
      title={t(fix?.state === "planned" ? "incidents.verify.measure" : "incidents.verify.title")}
      submit={t("incidents.verify.start")}
      size="44rem"
      ready={fix !== undefined && !few && (kind !== "control" || control !== null) && Number(bar) > 0}
      onSubmit={() =>
        write.send({
          method: "POST",
          path: `/fixes/${fix?.id}/verify`,
          body: {
            kind,
            minimum_change: Number(bar) / 100,
            ...(kind === "control" ? { control_host_id: control } : {}),
          },
        })
      }
      onClose={onClose}
    >
      <p className={classes.summary}>{fix?.what}</p>
      <p>
        {primary
          ? t(`playbooks.primary.${primary.better}`, { name: numberName(primary.read) })
          : t("incidents.verify.noPrimary")}
      </p>
      <SegmentedControl
        aria-label={t("incidents.verify.how")}
        value={kind}
        onChange={(value) => setKind(value as typeof kind)}
        data={KINDS.map((kind) => ({ value: kind, label: t(`incidents.verify.kind.${kind}`) }))}
      />
      <p className={classes.hint}>{t(`incidents.verify.kindText.${kind}`)}</p>
      {kind === "control" && others.length === 0 && (
        <p className={classes.hint}>
          {t("incidents.verify.noOther")}{" "}
          <Button size="compact-xs" variant="default" onClick={() => view.set({ dialog: "hosts" })}>
            {t("incidents.hosts.addBoth")}
          </Button>
        </p>
      )}
      {few && (
        <p className={classes.hint}>
          {t("incidents.verify.fewHosts", { count: MIN_COHORT, named: changed.size })}
        </p>
      )}
      <div className={classes.two}>
        <NumberInput
          label={t("incidents.verify.minimumChange")}
          description={t("incidents.verify.minimumChangeText")}
          value={bar}
          onChange={setBar}
          min={1}
          max={100}
          suffix=" %"
        />
        <Select
          label={t("incidents.verify.control")}
          description={t("incidents.verify.controlText")}
          data={others.map((host) => ({ value: host.id, label: host.name }))}
          value={control}
          onChange={setControl}
          disabled={kind !== "control"}
        />
      </div>
      <p className={classes.hint}>
        {t(fix?.state === "planned" ? "incidents.verify.runsBefore" : "incidents.verify.runs")}
      </p>
    </IncidentForm>
  );
}
