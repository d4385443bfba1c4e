import { Button, Checkbox, NumberInput, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useState } from "react";
import type { Schedule } from "../../../client/models";
import { Dialog } from "../../../components/Dialog";
import { BlockSkeleton, ErrorLine, useErrorText } from "../../../components/EmptyState";
import { cx } from "../../../core/cx";
import { scheduleKeys, useCadencePreview } from "../../../lib/captures/schedules";
import { patch, post, remove, useAction } from "../../../lib/queries";
import { useTranslation } from "../../../lib/text/useTranslation";
import classes from "../schedules.module.css";
import { UpcomingTable } from "../UpcomingTable";
import { CadenceFields } from "./CadenceFields";
import {
  emptyDraft,
  isScheduleComplete,
  type ScheduleDraft,
  toCadence,
  toCreateBody,
  toScheduleDraft,
  toTarget,
  toUpdateBody,
} from "./scheduleDraft";
import { ScheduleCaptureFields, ScheduleTargetFields } from "./WorkFields";

const TYPED_MS = 250;

/** Dialog that creates or edits a schedule, with a live preview of its next due times. */
export function ScheduleDialog({ schedule, onClose }: { schedule?: Schedule; onClose: () => void }) {
  const { t } = useTranslation();
  const errorText = useErrorText();
  const [draft, setDraft] = useState<ScheduleDraft>(() =>
    schedule
      ? toScheduleDraft(schedule)
      : emptyDraft(Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC"),
  );
  const [sure, setSure] = useState(false);
  const [once] = useState(() => crypto.randomUUID());
  const change = (some: Partial<ScheduleDraft>) => setDraft((before) => ({ ...before, ...some }));
  const [typed] = useDebouncedValue(draft, TYPED_MS);
  const preview = useCadencePreview(toCadence(typed), toTarget(typed));
  const save = useAction(
    () =>
      schedule
        ? patch(`/schedules/${schedule.id}`, toUpdateBody(draft, schedule))
        : post("/schedules", toCreateBody(draft), once),
    [scheduleKeys.schedules],
    onClose,
  );
  const drop = useAction((id: string) => remove(`/schedules/${id}`), [scheduleKeys.schedules], onClose);
  return (
    <Dialog
      onClose={onClose}
      title={schedule ? t("schedules.editTitle", { name: schedule.name }) : t("schedules.add")}
      size="72rem"
    >
      <form
        className={classes.stack}
        onSubmit={(event) => {
          event.preventDefault();
          if (isScheduleComplete(draft)) save.mutate(undefined);
        }}
      >
        <div className={classes.editor}>
          <div className={classes.stack}>
            <TextInput
              label={t("schedules.name")}
              value={draft.name}
              maxLength={64}
              onChange={(event) => change({ name: event.currentTarget.value })}
              data-autofocus
            />
            <CadenceFields
              draft={draft}
              refused={preview.error ? errorText(preview.error) : undefined}
              onChange={change}
            />
            <ScheduleCaptureFields draft={draft} onChange={change} />
            <ScheduleTargetFields draft={draft} onChange={change} />
            <fieldset className={classes.part}>
              <legend>{t("schedules.late")}</legend>
              <NumberInput
                label={t("schedules.tolerance")}
                description={t("schedules.toleranceText")}
                min={0.5}
                max={1440}
                value={draft.toleranceMin}
                onChange={(toleranceMin) => change({ toleranceMin })}
              />
              <Checkbox
                label={t("schedules.catchUp")}
                description={t("schedules.catchUpText")}
                checked={draft.catchUp}
                onChange={(event) => change({ catchUp: event.currentTarget.checked })}
              />
            </fieldset>
            <TextInput
              label={t("captures.reason")}
              description={t("schedules.reasonText")}
              value={draft.reason}
              maxLength={400}
              onChange={(event) => change({ reason: event.currentTarget.value })}
            />
          </div>
          <section className={classes.preview} aria-label={t("schedules.upcoming")} aria-live="polite">
            <h3>{t("schedules.upcoming")}</h3>
            {preview.data ? (
              <div className={cx((preview.isPlaceholderData || Boolean(preview.error)) && classes.stale)}>
                <UpcomingTable upcoming={preview.data.upcoming} zone={preview.data.zone} />
              </div>
            ) : (
              !preview.error && <BlockSkeleton height={300} />
            )}
          </section>
        </div>
        <ErrorLine error={save.error ?? drop.error} />
        <div className={classes.buttons}>
          <Button type="submit" loading={save.isPending} disabled={!isScheduleComplete(draft)}>
            {schedule ? t("action.save") : t("schedules.add")}
          </Button>
          <Button variant="default" onClick={onClose}>
            {t("action.cancel")}
          </Button>
          {schedule && <span className="dim">{t("schedules.ownership")}</span>}
          {schedule && (
            <Button
              className={classes.pushRight ?? ""}
              variant={sure ? "filled" : "default"}
              color="red"
              loading={drop.isPending}
              onClick={() => (sure ? drop.mutate(schedule.id) : setSure(true))}
            >
              {t(sure ? "schedules.removeSure" : "schedules.remove")}
            </Button>
          )}
        </div>
      </form>
    </Dialog>
  );
}
