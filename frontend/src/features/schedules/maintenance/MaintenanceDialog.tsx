import { Button, NumberInput, SegmentedControl, Select, TagsInput, Textarea } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useState } from "react";
import { Dialog } from "../../../components/Dialog";
import { BlockSkeleton, ErrorLine, useErrorText } from "../../../components/EmptyState";
import { TimeField } from "../../../components/fields/TimeField";
import { cx } from "../../../core/cx";
import { parseLabel } from "../../../core/hosts/labels";
import { scheduleKeys, useCadencePreview } from "../../../lib/captures/schedules";
import { post, useAction, useHosts } from "../../../lib/queries";
import { useTranslation } from "../../../lib/text/useTranslation";
import { CronField, CronPatterns, ZoneField } from "../form/CronFields";
import classes from "../schedules.module.css";
import { UpcomingTable } from "../UpcomingTable";
import {
  emptyWindow,
  isWindowComplete,
  MAX_MINUTES,
  TARGETS,
  toWindowBody,
  toWindowCadence,
  type WindowDraft,
} from "./windowDraft";

const TYPED_MS = 250;
const MAX_ROWS = 5;

interface Part {
  draft: WindowDraft;
  onChange: (some: Partial<WindowDraft>) => void;
}

/** Dialog that creates a single or recurring maintenance window. Manual captures still start during a window. */
export function MaintenanceDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const [draft, setDraft] = useState<WindowDraft>(() =>
    emptyWindow(Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC", Date.now()),
  );
  const [once] = useState(() => crypto.randomUUID());
  const change = (some: Partial<WindowDraft>) => setDraft((before) => ({ ...before, ...some }));
  const add = useAction(
    () => post("/maintenance-windows", toWindowBody(draft), once),
    [scheduleKeys.windows, scheduleKeys.schedules],
    onClose,
  );
  return (
    <Dialog onClose={onClose} title={t("maintenance.add")} size="40rem">
      <form
        className={classes.stack}
        onSubmit={(event) => {
          event.preventDefault();
          if (isWindowComplete(draft)) add.mutate(undefined);
        }}
      >
        <p className={classes.hint}>{t("maintenance.text")}</p>
        <SegmentedControl
          aria-label={t("schedules.when")}
          data={[
            { value: "once", label: t("schedules.kinds.once") },
            { value: "recurs", label: t("schedules.kinds.cron") },
          ]}
          value={draft.recurs ? "recurs" : "once"}
          onChange={(kind) => change({ recurs: kind === "recurs" })}
        />
        {draft.recurs ? (
          <Recurrence draft={draft} onChange={change} />
        ) : (
          <div className={classes.row}>
            <TimeField
              label={t("maintenance.from")}
              required
              value={draft.from}
              onChange={(from) => change({ from })}
            />
            <TimeField
              label={t("maintenance.until")}
              required
              value={draft.until}
              onChange={(until) => change({ until })}
            />
          </div>
        )}
        <TargetFields draft={draft} onChange={change} />
        <Textarea
          label={t("captures.reason")}
          required
          autosize
          minRows={2}
          maxLength={400}
          value={draft.reason}
          onChange={(event) => change({ reason: event.currentTarget.value })}
        />
        <ErrorLine error={add.error} />
        <div className={classes.buttons}>
          <Button type="submit" loading={add.isPending} disabled={!isWindowComplete(draft)}>
            {t("maintenance.add")}
          </Button>
          <Button variant="default" onClick={onClose}>
            {t("action.cancel")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** Form fields of a recurrence: cron expression, duration and end, with a preview of the next occurrences. */
function Recurrence({ draft, onChange }: Part) {
  const { t } = useTranslation();
  const errorText = useErrorText();
  const [typed] = useDebouncedValue(draft, TYPED_MS);
  const preview = useCadencePreview(toWindowCadence(typed), undefined);
  return (
    <>
      <div className={classes.row}>
        <CronField
          cron={draft.cron}
          refused={preview.error ? errorText(preview.error) : undefined}
          onChange={(cron) => onChange({ cron })}
        />
        <ZoneField zone={draft.zone} onChange={(zone) => onChange({ zone })} />
      </div>
      <CronPatterns onChoose={(cron) => onChange({ cron })} />
      <div className={classes.row}>
        <NumberInput
          label={t("maintenance.duration")}
          description={t("maintenance.durationText")}
          suffix=" min"
          required
          allowDecimal={false}
          min={1}
          max={MAX_MINUTES}
          value={draft.minutes}
          onChange={(minutes) => onChange({ minutes })}
        />
        <TimeField
          label={t("maintenance.repeatUntil")}
          description={t("maintenance.repeatUntilText")}
          value={draft.stops}
          onChange={(stops) => onChange({ stops })}
        />
      </div>
      {preview.data ? (
        <div className={cx((preview.isPlaceholderData || preview.error) && classes.stale)}>
          <UpcomingTable
            upcoming={preview.data.upcoming.slice(0, MAX_ROWS)}
            zone={preview.data.zone}
            lastsMin={Number(typed.minutes) || 0}
          />
        </div>
      ) : (
        !preview.error && <BlockSkeleton height={180} />
      )}
    </>
  );
}

/** Form fields of the target: hosts with all selected labels, a single host, or all hosts. */
function TargetFields({ draft, onChange }: Part) {
  const { t } = useTranslation();
  const hosts = useHosts({ state: "active" }).data ?? [];
  return (
    <>
      <SegmentedControl
        aria-label={t("maintenance.where")}
        data={TARGETS.map((value) => ({ value, label: t(`maintenance.places.${value}`) }))}
        value={draft.place}
        onChange={(value) => onChange({ place: value as WindowDraft["place"] })}
      />
      {draft.place === "labels" && (
        <TagsInput
          label={t("schedules.labels")}
          placeholder="role=feed"
          value={[...draft.labels]}
          onChange={(labels) => onChange({ labels })}
          error={draft.labels.some((label) => !parseLabel(label)) && t("services.selectorBad")}
        />
      )}
      {draft.place === "host" && (
        <Select
          label={t("maintenance.host")}
          data={hosts.map((host) => ({ value: host.id, label: host.name }))}
          value={draft.host}
          onChange={(host) => onChange({ host })}
          searchable
          limit={100}
        />
      )}
    </>
  );
}
