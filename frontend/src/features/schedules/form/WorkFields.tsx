import { Checkbox, MultiSelect, NumberInput, SegmentedControl, Select, TagsInput } from "@mantine/core";
import { parseLabel } from "../../../core/hosts/labels";
import { useCollectors, useHosts, usePermission, usePlans } from "../../../lib/queries";
import { useLocalized } from "../../../lib/text/i18n";
import { useTranslation } from "../../../lib/text/useTranslation";
import classes from "../schedules.module.css";
import { CUSTOM_CADENCE, type ScheduleDraft } from "./scheduleDraft";

interface Props {
  draft: ScheduleDraft;
  onChange: (some: Partial<ScheduleDraft>) => void;
}

/** Form fields of the capture: a plan, or custom collectors. Collectors that stop a process are not offered. */
export function ScheduleCaptureFields({ draft, onChange }: Props) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const can = usePermission();
  const plans = usePlans().data ?? [];
  const collectors = (useCollectors().data ?? []).filter((collector) => collector.tier !== "ptrace");
  const custom = draft.plan === CUSTOM_CADENCE;
  const deep = custom
    ? collectors.some((collector) => collector.tier === "deep" && draft.collectors.includes(collector.id))
    : plans.some((plan) => plan.id === draft.plan && plan.tier === "deep");
  return (
    <fieldset className={classes.part}>
      <legend>{t("schedules.what")}</legend>
      <div className={classes.row}>
        <Select
          label={t("captures.plan")}
          data={[
            ...plans.map((plan) => ({ value: plan.id, label: localize(plan.title) })),
            { value: CUSTOM_CADENCE, label: t("newCapture.custom") },
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
          data={collectors.map((collector) => ({ value: collector.id, label: localize(collector.title) }))}
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
          disabled={!can("schedule.allow_deep")}
          onChange={(event) => onChange({ allowDeep: event.currentTarget.checked })}
        />
      )}
    </fieldset>
  );
}

/** Form fields of the target: labels, resolved to hosts at each due time, or a fixed list of hosts. */
export function ScheduleTargetFields({ draft, onChange }: Props) {
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
          error={draft.labels.some((label) => !parseLabel(label)) && t("services.selectorBad")}
        />
      ) : (
        <MultiSelect
          label={t("nav.hosts")}
          data={hosts.map((host) => ({ value: host.id, label: host.name }))}
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
