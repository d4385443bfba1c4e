import { Button, NumberInput, SegmentedControl, Select } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useWrite } from "../../lib/incidents";
import { useNumberName } from "../../lib/useNumberName";
import { ActForm } from "./ActForm";
import type { ActProps } from "./Acts";
import classes from "./Incidents.module.css";

const KINDS = ["plain", "control", "cohort"] as const;
const BAR_PCT = 10;
/** Hosts below which a cohort says nothing. */
const COHORT_LEAST = 3;

/** How a fix is judged: by which number, against what bar, with a host that was left alone or without; and what runs. */
export function VerifyDialog({ incident, view, onClose }: ActProps) {
  const { t } = useTranslation();
  const numberName = useNumberName();
  const write = useWrite(incident, () => view.set({ act: "", pane: "fixes", what: view.what }), true);
  const fix = incident.fixes.find((one) => one.id === view.what) ?? incident.fixes.at(-1);
  const changed = new Set(fix?.hosts);
  const controls = incident.hosts
    .filter((one) => one.role === "control" && !changed.has(one.id))
    .map((one) => one.id);
  const [kind, setKind] = useState<(typeof KINDS)[number]>(
    changed.size >= COHORT_LEAST ? "cohort" : controls.length > 0 ? "control" : "plain",
  );
  const [control, setControl] = useState<string | null>(controls[0] ?? null);
  const [bar, setBar] = useState<number | string>(BAR_PCT);
  const others = incident.hosts.filter((one) => !changed.has(one.id));
  const few = kind === "cohort" && changed.size < COHORT_LEAST;
  const primary = incident.hypotheses.find((one) => one.id === fix?.hypothesis_id)?.primary;
  return (
    <ActForm
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
          body: { kind, bar: Number(bar) / 100, ...(kind === "control" ? { control_host_id: control } : {}) },
        })
      }
      onClose={onClose}
    >
      <p className={classes.says}>{fix?.what}</p>
      <p>
        {primary
          ? t(`playbooks.primary.${primary.better}`, { name: numberName(primary.read) })
          : t("incidents.verify.noPrimary")}
      </p>
      <SegmentedControl
        aria-label={t("incidents.verify.how")}
        value={kind}
        onChange={(value) => setKind(value as typeof kind)}
        data={KINDS.map((one) => ({ value: one, label: t(`incidents.verify.kind.${one}`) }))}
      />
      <p className={classes.hint}>{t(`incidents.verify.kindText.${kind}`)}</p>
      {kind === "control" && others.length === 0 && (
        <p className={classes.hint}>
          {t("incidents.verify.noOther")}{" "}
          <Button size="compact-xs" variant="default" onClick={() => view.set({ act: "hosts" })}>
            {t("incidents.hosts.addBoth")}
          </Button>
        </p>
      )}
      {few && (
        <p className={classes.hint}>
          {t("incidents.verify.fewHosts", { count: COHORT_LEAST, named: changed.size })}
        </p>
      )}
      <div className={classes.two}>
        <NumberInput
          label={t("incidents.verify.bar")}
          description={t("incidents.verify.barText")}
          value={bar}
          onChange={setBar}
          min={1}
          max={100}
          suffix=" %"
        />
        <Select
          label={t("incidents.verify.control")}
          description={t("incidents.verify.controlText")}
          data={others.map((one) => ({ value: one.id, label: one.name }))}
          value={control}
          onChange={setControl}
          disabled={kind !== "control"}
        />
      </div>
      <p className={classes.hint}>
        {t(fix?.state === "planned" ? "incidents.verify.runsBefore" : "incidents.verify.runs")}
      </p>
    </ActForm>
  );
}
