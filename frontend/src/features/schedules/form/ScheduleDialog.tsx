import { Button, Checkbox, NumberInput, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { Schedule } from "../../client/schedules";
import { Dialog } from "../../components/Dialog";
import { BlockSkeleton, ErrorLine, useErrorText } from "../../components/States";
import { cx } from "../../core/cx";
import { patch, post, remove, useAction } from "../../lib/queries";
import { scheduleKeys, useCadence } from "../../lib/schedules";
import { CadenceFields } from "./CadenceFields";
import {
  cadenceOf,
  complete,
  createBody,
  draftOf,
  emptyDraft,
  type ScheduleDraft,
  targetOf,
  updateBody,
} from "./scheduleDraft";
import classes from "./schedules.module.css";
import { UpcomingTable } from "./UpcomingTable";
import { WhatFields, WhereFields } from "./WorkFields";

const TYPED_MS = 250;

/** Makes a schedule, or changes one; when it would be due is shown while one types. */
export function ScheduleDialog({ schedule, onClose }: { schedule?: Schedule; onClose: () => void }) {
  const { t } = useTranslation();
  const errorText = useErrorText();
  const [draft, setDraft] = useState<ScheduleDraft>(() =>
    schedule ? draftOf(schedule) : emptyDraft(Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC"),
  );
  const [sure, setSure] = useState(false);
  const [once] = useState(() => crypto.randomUUID());
  const change = (some: Partial<ScheduleDraft>) => setDraft((before) => ({ ...before, ...some }));
  const [typed] = useDebouncedValue(draft, TYPED_MS);
  const preview = useCadence(cadenceOf(typed), targetOf(typed));
  const save = useAction(
    () =>
      schedule
        ? patch<Schedule>(`/schedules/${schedule.id}`, updateBody(draft, schedule))
        : post<Schedule>("/schedules", createBody(draft), once),
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
          if (complete(draft)) save.mutate(undefined);
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
            <WhatFields draft={draft} onChange={change} />
            <WhereFields draft={draft} onChange={change} />
            <fieldset className={classes.part}>
              <legend>{t("schedules.late")}</legend>
              <NumberInput
                label={t("schedules.grace")}
                description={t("schedules.graceText")}
                min={0.5}
                max={1440}
                value={draft.graceMin}
                onChange={(graceMin) => change({ graceMin })}
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
          <Button type="submit" loading={save.isPending} disabled={!complete(draft)}>
            {schedule ? t("action.save") : t("schedules.add")}
          </Button>
          <Button variant="default" onClick={onClose}>
            {t("action.cancel")}
          </Button>
          {schedule && <span className="dim">{t("schedules.ownership")}</span>}
          {schedule && (
            <Button
              className={classes.apart ?? ""}
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
