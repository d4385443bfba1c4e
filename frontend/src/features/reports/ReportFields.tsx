import { Select } from "@mantine/core";
import type { ReportPreset } from "../../client/models";
import { useTranslation } from "../../lib/text/useTranslation";

interface Field<T> {
  value: T;
  onChange: (value: T) => void;
  disabled?: boolean;
}

const ZONES = ["UTC", ...Intl.supportedValuesOf("timeZone").filter((item) => item !== "UTC")];

/** Select of the audience of a report, which sets the default redaction. */
export function PresetField({ value, onChange, disabled = false }: Field<ReportPreset>) {
  const { t } = useTranslation();
  return (
    <Select
      label={t("reports.field.preset")}
      data={(["customer", "internal"] as const).map((item) => ({
        value: item,
        label: t(`reports.preset.${item}`),
      }))}
      value={value}
      onChange={(next) => onChange((next ?? value) as ReportPreset)}
      allowDeselect={false}
      disabled={disabled}
    />
  );
}

/** Select of the language of a report. */
export function LanguageField({ value, onChange, disabled = false }: Field<"en" | "zh">) {
  const { t } = useTranslation();
  return (
    <Select
      label={t("reports.field.language")}
      data={(["en", "zh"] as const).map((item) => ({ value: item, label: t(`reports.language.${item}`) }))}
      value={value}
      onChange={(next) => onChange((next ?? value) as "en" | "zh")}
      allowDeselect={false}
      disabled={disabled}
    />
  );
}

/** Select of the time zone of a report. */
export function ZoneField({ value, onChange, disabled = false }: Field<string>) {
  const { t } = useTranslation();
  return (
    <Select
      label={t("reports.field.zone")}
      data={ZONES.includes(value) ? ZONES : [value, ...ZONES]}
      value={value}
      onChange={(next) => onChange(next ?? value)}
      allowDeselect={false}
      searchable
      limit={60}
      disabled={disabled}
    />
  );
}
