import { ActionIcon, NumberInput, Select, TextInput } from "@mantine/core";
import { X } from "lucide-react";
import type { ConditionKind } from "../../client/models";
import { useLocale } from "../../lib/text/i18n";
import { useTranslation } from "../../lib/text/useTranslation";
import classes from "../../widgets/watchers/watchers.module.css";
import type { ConditionDraft } from "./watcherDraft";

interface Props {
  draft: ConditionDraft;
  kinds: readonly ConditionKind[];
  onChange: (some: Partial<ConditionDraft>) => void;
  onRemove: (() => void) | undefined;
}

/** Form fields of a condition: the start of something, or a number of readings over or under a limit. */
export function ConditionFields({ draft, kinds, onChange, onRemove }: Props) {
  const { t } = useTranslation();
  const locale = useLocale();
  const known = kinds.find((conditionKind) => conditionKind.kind === draft.kind);
  const group = (isStart: boolean) =>
    kinds
      .filter((conditionKind) => conditionKind.is_start === isStart)
      .map((conditionKind) => ({ value: conditionKind.kind, label: conditionKind.title[locale] }));
  return (
    <div className={classes.row}>
      <Select
        className={classes.kind ?? ""}
        label={t("watchers.when")}
        data={[
          { group: t("watchers.conditionGroup.starts"), items: group(true) },
          { group: t("watchers.conditionGroup.crosses"), items: group(false) },
        ]}
        value={draft.kind}
        allowDeselect={false}
        searchable
        onChange={(kind) => kind && onChange({ kind, key: "" })}
      />
      {known && known.key !== "" && (
        <TextInput
          label={t("watchers.key")}
          placeholder={known.example}
          value={draft.key}
          onChange={(event) => onChange({ key: event.currentTarget.value })}
        />
      )}
      {known && !known.is_start && (
        <>
          <Select
            label={t("watchers.op")}
            data={[
              { value: "over", label: t("watchers.atOrAbove") },
              { value: "under", label: t("watchers.atOrBelow") },
            ]}
            value={draft.op}
            allowDeselect={false}
            onChange={(op) => op && onChange({ op: op as "over" | "under" })}
          />
          <NumberInput
            label={known.unit === "pct" ? `${t("watchers.limit")} (%)` : t("watchers.limit")}
            min={0}
            value={draft.limit}
            onChange={(limit) => onChange({ limit })}
          />
          <NumberInput
            label={t("watchers.hits")}
            min={1}
            max={60}
            value={draft.required_hits}
            onChange={(hits) => onChange({ required_hits: hits })}
          />
          <NumberInput
            label={t("watchers.of")}
            min={1}
            max={60}
            value={draft.window_readings}
            onChange={(readings) => onChange({ window_readings: readings })}
          />
        </>
      )}
      {onRemove && (
        <ActionIcon
          className={classes.tight ?? ""}
          variant="default"
          onClick={onRemove}
          aria-label={t("watchers.removeCondition")}
        >
          <X size={14} />
        </ActionIcon>
      )}
    </div>
  );
}
