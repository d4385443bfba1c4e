import { Checkbox, MultiSelect, NumberInput, SegmentedControl, Select, TagsInput } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { parseLabel } from "../../core/labels";
import { usePick } from "../../lib/i18n";
import { useCollectors, useHosts, useMay, usePlans } from "../../lib/queries";
import { CUSTOM, type ScheduleDraft } from "./scheduleDraft";
import classes from "./schedules.module.css";

interface Props {
  draft: ScheduleDraft;
  onChange: (some: Partial<ScheduleDraft>) => void;
}

/** What is captured: a plan, or collectors of one's own. Nothing that stops a process can be chosen. */
export function WhatFields({ draft, onChange }: Props) {
  const { t } = useTranslation();
  const pick = usePick();
  const may = useMay();
  const plans = usePlans().data ?? [];
  const collectors = (useCollectors().data ?? []).filter((one) => one.tier !== "ptrace");
  const custom = draft.plan === CUSTOM;
  const deep = custom
    ? collectors.some((one) => one.tier === "deep" && draft.collectors.includes(one.id))
    : plans.some((one) => one.id === draft.plan && one.tier === "deep");
  return (
    <fieldset className={classes.part}>
      <legend>{t("schedules.what")}</legend>
      <div className={classes.row}>
        <Select
          label={t("captures.plan")}
          data={[
            ...plans.map((one) => ({ value: one.id, label: pick(one.title) })),
            { value: CUSTOM, label: t("newCapture.custom") },
          ]}
          value={draft.plan}
          onChange={(plan) => plan && onChange({ plan })}
          allowDeselect={false}
        />
        <NumberInput
          label={t("schedules.seconds")}
          placeholder={t("schedules.secondsOwn")}
          min={1}
          max={600}
          allowDecimal={false}
          value={draft.seconds}
          onChange={(seconds) => onChange({ seconds })}
        />
      </div>
      {custom && (
        <MultiSelect
          label={t("preflight.collectors")}
          data={collectors.map((one) => ({ value: one.id, label: pick(one.title) }))}
          value={[...draft.collectors]}
          onChange={(chosen) => onChange({ collectors: chosen })}
          searchable
          maxValues={60}
        />
      )}
      {deep && (
        <Checkbox
          label={t("schedules.allowDeep")}
          description={t("schedules.allowDeepText")}
          checked={draft.allowDeep}
          disabled={!may("schedule.allow_deep")}
          onChange={(event) => onChange({ allowDeep: event.currentTarget.checked })}
        />
      )}
    </fieldset>
  );
}

/** Where: all hosts with some labels when it is due, or these. */
export function WhereFields({ draft, onChange }: Props) {
  const { t } = useTranslation();
  const hosts = useHosts({ state: "active" }).data ?? [];
  return (
    <fieldset className={classes.part}>
      <legend>{t("schedules.where")}</legend>
      <SegmentedControl
        aria-label={t("schedules.where")}
        data={(["labels", "hosts"] as const).map((value) => ({
          value,
          label: t(`schedules.targets.${value}`),
        }))}
        value={draft.where}
        onChange={(where) => onChange({ where: where as ScheduleDraft["where"] })}
      />
      {draft.where === "labels" ? (
        <TagsInput
          label={t("schedules.labels")}
          description={t("schedules.labelsText")}
          placeholder="role=feed"
          value={[...draft.labels]}
          onChange={(labels) => onChange({ labels })}
          error={draft.labels.some((one) => !parseLabel(one)) && t("services.selectorBad")}
        />
      ) : (
        <MultiSelect
          label={t("nav.hosts")}
          data={hosts.map((one) => ({ value: one.id, label: one.name }))}
          value={[...draft.hosts]}
          onChange={(chosen) => onChange({ hosts: chosen })}
          searchable
          limit={100}
          maxValues={200}
        />
      )}
    </fieldset>
  );
}
