import { Button, NumberInput, Radio, Select, Stack } from "@mantine/core";
import { useState } from "react";
import { useIncidentWrite } from "../../../lib/incidents/incidents";
import { useNumberName } from "../../../lib/text/useNumberName";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { Verification } from "../api";
import { IncidentForm } from "../dialogs/IncidentForm";
import type { IncidentDialogProps } from "../dialogs/types";
import classes from "../page/Incidents.module.css";
import { useIncidentText } from "../page/useIncidentText";

const DEFAULT_MINIMUM_CHANGE_PCT = 10;

/** Dialog that starts a verification: method (most reliable first), primary number, minimum change, control host. */
export function VerifyFixDialog({ incident, view, onClose }: IncidentDialogProps) {
  const { t } = useTranslation();
  const numberName = useNumberName();
  const words = useIncidentText(incident);
  const write = useIncidentWrite(
    incident,
    () => view.set({ dialog: "", pane: "fixes", what: view.what }),
    true,
  );
  const fix = incident.fixes.find((fix) => fix.id === view.what) ?? incident.fixes.at(-1);
  const changed = new Set(fix?.hosts);
  const controls = incident.hosts
    .filter((host) => host.role === "control" && !changed.has(host.id))
    .map((host) => host.id);
  const offers = fix?.offers ?? [];
  const [kind, setKind] = useState<Verification["kind"]>(offers[0]?.kind ?? "plain");
  const [control, setControl] = useState<string | null>(controls[0] ?? null);
  const [bar, setBar] = useState<number | string>(DEFAULT_MINIMUM_CHANGE_PCT);
  const others = incident.hosts.filter((host) => !changed.has(host.id));
  const primary = incident.hypotheses.find((hypothesis) => hypothesis.id === fix?.hypothesis_id)?.primary;
  return (
    <IncidentForm
      incident={incident}
      write={write}
      title={t(fix?.state === "planned" ? "incidents.verify.measure" : "incidents.verify.title")}
      submit={t("incidents.verify.start")}
      size="44rem"
      ready={fix !== undefined && (kind !== "control" || control !== null) && Number(bar) > 0}
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
      <Radio.Group
        label={t("incidents.verify.how")}
        value={kind}
        onChange={(value) => setKind(value as Verification["kind"])}
      >
        <Stack gap="xs" mt="xs">
          {offers.map((offer) => (
            <Radio
              key={offer.kind}
              value={offer.kind}
              disabled={offer.refusal !== null}
              label={t(`incidents.verify.kind.${offer.kind}`)}
              description={words(offer.refusal ?? offer.reason)}
            />
          ))}
        </Stack>
      </Radio.Group>
      {others.length === 0 && (
        <p className={classes.hint}>
          <Button size="compact-xs" variant="default" onClick={() => view.set({ dialog: "hosts" })}>
            {t("incidents.hosts.addBoth")}
          </Button>
        </p>
      )}
      <div className={classes.twoColumns}>
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
        {t(
          kind === "alternating"
            ? "incidents.verify.runsInTurns"
            : fix?.state === "planned"
              ? "incidents.verify.runsBefore"
              : "incidents.verify.runs",
        )}
      </p>
    </IncidentForm>
  );
}
