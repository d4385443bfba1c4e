import { ActionIcon, NumberInput, Select, TextInput } from "@mantine/core";
import { X } from "lucide-react";
import { useTranslation } from "react-i18next";
import type { ConditionKind } from "../../client/standbys";
import { useLocale } from "../../lib/i18n";
import classes from "../../renderers/standbys/standbys.module.css";
import type { ConditionDraft } from "./armDraft";

interface Props {
  draft: ConditionDraft;
  kinds: readonly ConditionKind[];
  onChange: (some: Partial<ConditionDraft>) => void;
  onRemove: (() => void) | undefined;
}

/** One condition: something that starts, or a reading that crosses a limit and stays there. */
export function ConditionFields({ draft, kinds, onChange, onRemove }: Props) {
  const { t } = useTranslation();
  const locale = useLocale();
  const known = kinds.find((one) => one.kind === draft.kind);
  const group = (starts: boolean) =>
    kinds
      .filter((one) => one.starts === starts)
      .map((one) => ({ value: one.kind, label: one.title[locale] }));
  return (
    <div className={classes.row}>
      <Select
        className={classes.kind ?? ""}
        label={t("standbys.when")}
        data={[
          { group: t("standbys.group.starts"), items: group(true) },
          { group: t("standbys.group.crosses"), items: group(false) },
        ]}
        value={draft.kind}
        allowDeselect={false}
        searchable
        onChange={(kind) => kind && onChange({ kind, key: "" })}
      />
      {known && known.key !== "" && (
        <TextInput
          label={t("standbys.key")}
          placeholder={known.example}
          value={draft.key}
          onChange={(event) => onChange({ key: event.currentTarget.value })}
        />
      )}
      {known && !known.starts && (
        <>
          <Select
            label={t("standbys.op")}
            data={[
              { value: "over", label: t("standbys.over") },
              { value: "under", label: t("standbys.under") },
            ]}
            value={draft.op}
            allowDeselect={false}
            onChange={(op) => op && onChange({ op: op as "over" | "under" })}
          />
          <NumberInput
            label={known.unit === "pct" ? `${t("standbys.limit")} (%)` : t("standbys.limit")}
            min={0}
            value={draft.limit}
            onChange={(limit) => onChange({ limit })}
          />
          <NumberInput
            label={t("standbys.hits")}
            min={1}
            max={60}
            value={draft.hits}
            onChange={(hits) => onChange({ hits })}
          />
          <NumberInput
            label={t("standbys.of")}
            min={1}
            max={60}
            value={draft.of}
            onChange={(of) => onChange({ of })}
          />
        </>
      )}
      {onRemove && (
        <ActionIcon
          className={classes.tight ?? ""}
          variant="default"
          onClick={onRemove}
          aria-label={t("standbys.without")}
        >
          <X size={14} />
        </ActionIcon>
      )}
    </div>
  );
}
