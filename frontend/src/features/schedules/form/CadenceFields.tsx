import { SegmentedControl, TextInput } from "@mantine/core";
import { useTranslation } from "../../../lib/text/useTranslation";
import classes from "../schedules.module.css";
import { CronField, CronPatterns, ZoneField } from "./CronFields";
import type { ScheduleDraft } from "./scheduleDraft";

interface Props {
  draft: ScheduleDraft;
  /** The server's error for this cadence. */
  refused: string | undefined;
  onChange: (some: Partial<ScheduleDraft>) => void;
}

/** Form fields of a cadence: a cron expression or a single time, with its time zone. */
export function CadenceFields({ draft, refused, onChange }: Props) {
  const { t } = useTranslation();
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
          <CronField cron={draft.cron} refused={refused} onChange={(cron) => onChange({ cron })} />
        ) : (
          <TextInput
            label={t("schedules.localTime")}
            description={t("schedules.wallText")}
            placeholder={t("time.placeholder")}
            value={draft.localTime.replace("T", " ")}
            onChange={(event) => onChange({ localTime: event.currentTarget.value.replace(/ +/, "T") })}
            error={refused}
          />
        )}
        <ZoneField zone={draft.zone} onChange={(zone) => onChange({ zone })} />
      </div>
      {draft.kind === "cron" && <CronPatterns onChoose={(cron) => onChange({ cron })} />}
    </fieldset>
  );
}
