import { ActionIcon, Button, Checkbox, Textarea, TextInput } from "@mantine/core";
import { Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import type { Report } from "../../client/models";
import { ErrorLine } from "../../components/EmptyState";
import { TimeField } from "../../components/fields/TimeField";
import { useUpdateReport } from "../../lib/incidents/reports";
import { useTranslation } from "../../lib/text/useTranslation";
import type { FollowUp } from "./api";
import { LanguageField, PresetField, ZoneField } from "./ReportFields";
import classes from "./Reports.module.css";

/** Return the editable fields of a report; all other content comes from the incident. */
const toReportDraft = (report: Report) => ({
  title: report.title,
  language: report.language,
  zone: report.zone,
  preset: report.preset,
  summary: report.summary,
  impact: report.impact,
  detected_at: report.detected_at ?? "",
  mitigated_at: report.mitigated_at ?? "",
  follow_ups: report.follow_ups,
  comments: report.comments,
});
type Draft = ReturnType<typeof toReportDraft>;

export function DraftForm({ report }: { report: Report }) {
  const { t } = useTranslation();
  const [draft, setDraft] = useState(() => toReportDraft(report));
  const write = useUpdateReport(report);
  const set = (part: Partial<Draft>) => setDraft((now) => ({ ...now, ...part }));
  const changed = JSON.stringify(draft) !== JSON.stringify(toReportDraft(report));
  const locked = !report.permissions.edit;
  return (
    <form
      className={classes.stack}
      onSubmit={(event) => {
        event.preventDefault();
        write.mutate({
          ...draft,
          title: draft.title.trim(),
          detected_at: draft.detected_at || null,
          mitigated_at: draft.mitigated_at || null,
          follow_ups: draft.follow_ups.filter((followUp) => followUp.what.trim() !== ""),
        });
      }}
    >
      <TextInput
        label={t("reports.field.title")}
        required
        disabled={locked}
        value={draft.title}
        onChange={(event) => set({ title: event.currentTarget.value })}
      />
      <div className={classes.row}>
        <PresetField value={draft.preset} onChange={(preset) => set({ preset })} disabled={locked} />
        <LanguageField value={draft.language} onChange={(language) => set({ language })} disabled={locked} />
        <ZoneField value={draft.zone} onChange={(zone) => set({ zone })} disabled={locked} />
      </div>
      <Textarea
        label={t("reports.field.summary")}
        description={t("reports.field.summaryText")}
        autosize
        minRows={3}
        maxRows={14}
        disabled={locked}
        value={draft.summary}
        onChange={(event) => set({ summary: event.currentTarget.value })}
      />
      <Textarea
        label={t("reports.field.impact")}
        description={t("reports.field.impactText")}
        autosize
        minRows={2}
        maxRows={10}
        disabled={locked}
        value={draft.impact}
        onChange={(event) => set({ impact: event.currentTarget.value })}
      />
      <div className={classes.row}>
        <TimeField
          label={t("reports.field.detected")}
          disabled={locked}
          value={draft.detected_at}
          onChange={(detected_at) => set({ detected_at })}
        />
        <TimeField
          label={t("reports.field.mitigated")}
          disabled={locked}
          value={draft.mitigated_at}
          onChange={(mitigated_at) => set({ mitigated_at })}
        />
      </div>
      <FollowUps rows={draft.follow_ups} onChange={(follow_ups) => set({ follow_ups })} locked={locked} />
      <Checkbox
        label={t("reports.field.comments")}
        description={t("reports.field.commentsText")}
        disabled={locked}
        checked={draft.comments}
        onChange={(event) => set({ comments: event.currentTarget.checked })}
      />
      <ErrorLine error={write.error} />
      {!locked && (
        <div className={classes.buttons}>
          <Button type="submit" loading={write.isPending} disabled={!changed || !draft.title.trim()}>
            {t("action.save")}
          </Button>
          {changed && <span className={classes.note}>{t("reports.unsaved")}</span>}
        </div>
      )}
    </form>
  );
}

interface RowsProps {
  rows: readonly FollowUp[];
  onChange: (rows: FollowUp[]) => void;
  locked: boolean;
}

function FollowUps({ rows, onChange, locked }: RowsProps) {
  const { t } = useTranslation();
  const put = (at: number, part: Partial<FollowUp>) =>
    onChange(rows.map((followUp, n) => (n === at ? { ...followUp, ...part } : followUp)));
  return (
    <fieldset className={`${classes.stack} ${classes.followUps}`} disabled={locked}>
      <legend>{t("reports.followUps.title")}</legend>
      {rows.map((followUp, n) => (
        <div key={n} className={classes.followUp}>
          <Checkbox
            aria-label={t("reports.followUps.done", { what: followUp.what })}
            checked={followUp.done}
            onChange={(event) => put(n, { done: event.currentTarget.checked })}
          />
          <TextInput
            aria-label={t("reports.followUps.what")}
            placeholder={t("reports.followUps.what")}
            value={followUp.what}
            onChange={(event) => put(n, { what: event.currentTarget.value })}
          />
          <TextInput
            aria-label={t("reports.followUps.who")}
            placeholder={t("reports.followUps.who")}
            value={followUp.who}
            onChange={(event) => put(n, { who: event.currentTarget.value })}
          />
          <ActionIcon
            aria-label={t("reports.followUps.remove", { what: followUp.what })}
            onClick={() => onChange(rows.filter((_, at) => at !== n))}
          >
            <Trash2 size={14} />
          </ActionIcon>
        </div>
      ))}
      {!locked && (
        <div>
          <Button
            variant="default"
            size="xs"
            leftSection={<Plus size={14} />}
            onClick={() => onChange([...rows, { what: "", who: "", due: null, done: false }])}
          >
            {t("reports.followUps.add")}
          </Button>
        </div>
      )}
    </fieldset>
  );
}
