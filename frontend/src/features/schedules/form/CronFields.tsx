import { Select, TextInput } from "@mantine/core";
import { useMemo } from "react";
import { useTranslation } from "../../../lib/text/useTranslation";
import classes from "../schedules.module.css";

/** Common cron expressions; their labels are the messages `schedules.patterns.<name>`. */
const PATTERNS = {
  nightly: "30 3 * * *",
  hourly: "0 * * * *",
  weekdays: "0 9 * * 1-5",
  weekly: "0 4 * * 0",
} as const;

/** Select of the time zone in which due times are computed. */
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
  /** The server's error for this expression. */
  refused: string | undefined;
  onChange: (cron: string) => void;
}

/** Text field for the five fields of a cron expression. */
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

/** Buttons that fill in a common cron expression. */
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
