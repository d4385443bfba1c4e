import { Select, TextInput } from "@mantine/core";
import { useMemo } from "react";
import { useTranslation } from "../../../lib/text/useTranslation";
import classes from "../schedules.module.css";

/** Cron fields that people ask for most; each has its words in the texts. */
const PATTERNS = {
  nightly: "30 3 * * *",
  hourly: "0 * * * *",
  weekdays: "0 9 * * 1-5",
  weekly: "0 4 * * 0",
} as const;

/** The zone on whose clock something is due. */
export function ZoneField({ zone, onChange }: { zone: string; onChange: (zone: string) => void }) {
  const { t } = useTranslation();
  const zones = useMemo(
    () => ["UTC", ...Intl.supportedValuesOf("timeZone").filter((item) => item !== "UTC")],
    [],
  );
  return (
    <Select
      label={t("schedules.zone")}
      description={t("schedules.zoneText")}
      data={zones.includes(zone) ? zones : [zone, ...zones]}
      value={zone}
      onChange={(chosen) => chosen && onChange(chosen)}
      searchable
      limit={60}
      allowDeselect={false}
    />
  );
}

interface Props {
  cron: string;
  /** Why the server refuses it. */
  refused: string | undefined;
  onChange: (cron: string) => void;
}

/** The five fields as they are typed. */
export function CronField({ cron, refused, onChange }: Props) {
  const { t } = useTranslation();
  return (
    <TextInput
      label={t("schedules.cron")}
      description={t("schedules.cronText")}
      classNames={{ input: "mono" }}
      value={cron}
      maxLength={200}
      autoComplete="off"
      spellCheck={false}
      onChange={(event) => onChange(event.currentTarget.value)}
      error={refused}
    />
  );
}

/** What people ask for most, one click away. */
export function CronPatterns({ onChoose }: { onChoose: (cron: string) => void }) {
  const { t } = useTranslation();
  return (
    <div className={classes.buttons}>
      {(Object.keys(PATTERNS) as (keyof typeof PATTERNS)[]).map((name) => (
        <button key={name} type="button" className={classes.name} onClick={() => onChoose(PATTERNS[name])}>
          {t(`schedules.patterns.${name}`)}
        </button>
      ))}
    </div>
  );
}
