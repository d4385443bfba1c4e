import { SegmentedControl, Select, TextInput } from "@mantine/core";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import type { ScheduleDraft } from "./scheduleDraft";
import classes from "./schedules.module.css";

/** Cron fields that people ask for most; each has its words in the texts. */
const PATTERNS = {
  nightly: "30 3 * * *",
  hourly: "0 * * * *",
  weekdays: "0 9 * * 1-5",
  weekly: "0 4 * * 0",
} as const;

interface Props {
  draft: ScheduleDraft;
  /** What the server says against it. */
  refused: string | undefined;
  onChange: (some: Partial<ScheduleDraft>) => void;
}

/** When: fields of cron or one time, on the clock of a zone. */
export function CadenceFields({ draft, refused, onChange }: Props) {
  const { t } = useTranslation();
  const zones = useMemo(
    () => ["UTC", ...Intl.supportedValuesOf("timeZone").filter((one) => one !== "UTC")],
    [],
  );
  const listed = zones.includes(draft.zone) ? zones : [draft.zone, ...zones];
  return (
    <fieldset className={classes.part}>
      <legend>{t("schedules.when")}</legend>
      <SegmentedControl
        aria-label={t("schedules.when")}
        data={(["cron", "once"] as const).map((value) => ({ value, label: t(`schedules.kinds.${value}`) }))}
        value={draft.kind}
        onChange={(kind) => onChange({ kind: kind as ScheduleDraft["kind"] })}
      />
      <div className={classes.row}>
        {draft.kind === "cron" ? (
          <TextInput
            label={t("schedules.cron")}
            description={t("schedules.cronText")}
            classNames={{ input: "mono" }}
            value={draft.cron}
            maxLength={200}
            autoComplete="off"
            spellCheck={false}
            onChange={(event) => onChange({ cron: event.currentTarget.value })}
            error={refused}
          />
        ) : (
          <TextInput
            label={t("schedules.wall")}
            description={t("schedules.wallText")}
            type="datetime-local"
            value={draft.wall}
            onChange={(event) => onChange({ wall: event.currentTarget.value })}
            error={refused}
          />
        )}
        <Select
          label={t("schedules.zone")}
          description={t("schedules.zoneText")}
          data={listed}
          value={draft.zone}
          onChange={(zone) => zone && onChange({ zone })}
          searchable
          limit={60}
          allowDeselect={false}
        />
      </div>
      {draft.kind === "cron" && (
        <div className={classes.buttons}>
          {(Object.keys(PATTERNS) as (keyof typeof PATTERNS)[]).map((name) => (
            <button
              key={name}
              type="button"
              className={classes.name}
              onClick={() => onChange({ cron: PATTERNS[name] })}
            >
              {t(`schedules.patterns.${name}`)}
            </button>
          ))}
        </div>
      )}
    </fieldset>
  );
}
