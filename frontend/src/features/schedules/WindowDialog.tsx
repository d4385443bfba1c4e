import { Button, SegmentedControl, Select, TagsInput, Textarea } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { MaintenanceWindow } from "../../client/schedules";
import { Dialog } from "../../components/Dialog";
import { ErrorLine } from "../../components/States";
import { TimeField } from "../../components/TimeField";
import { labelsOf, parseLabel } from "../../core/labels";
import { post, useAction, useHosts } from "../../lib/queries";
import { scheduleKeys } from "../../lib/schedules";
import classes from "./schedules.module.css";

const HOUR_MS = 3_600_000;
const PLACES = ["labels", "host", "everywhere"] as const;

/** Keeps scheduled captures away for a while; what a person starts is not held back. */
export function WindowDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const [from, setFrom] = useState(() => new Date().toISOString());
  const [until, setUntil] = useState(() => new Date(Date.now() + HOUR_MS).toISOString());
  const [place, setPlace] = useState<(typeof PLACES)[number]>("labels");
  const [labels, setLabels] = useState<string[]>([]);
  const [host, setHost] = useState<string | null>(null);
  const [reason, setReason] = useState("");
  const [once] = useState(() => crypto.randomUUID());
  const hosts = useHosts({ state: "active" }).data ?? [];
  const add = useAction(
    () =>
      post<MaintenanceWindow>(
        "/maintenance",
        {
          starts_at: from,
          ends_at: until,
          reason: reason.trim(),
          ...(place === "host" ? { host_id: host } : {}),
          ...(place === "labels" ? { labels: labelsOf(labels) } : {}),
        },
        once,
      ),
    [scheduleKeys.windows, scheduleKeys.schedules],
    onClose,
  );
  const placed =
    place === "everywhere" ||
    (place === "host" ? host !== null : labels.length > 0 && labels.every((one) => parseLabel(one)));
  return (
    <Dialog onClose={onClose} title={t("maintenance.add")} size="36rem">
      <form
        className={classes.stack}
        onSubmit={(event) => {
          event.preventDefault();
          add.mutate(undefined);
        }}
      >
        <p className={classes.hint}>{t("maintenance.text")}</p>
        <div className={classes.row}>
          <TimeField label={t("maintenance.from")} required value={from} onChange={setFrom} />
          <TimeField label={t("maintenance.until")} required value={until} onChange={setUntil} />
        </div>
        <SegmentedControl
          aria-label={t("maintenance.where")}
          data={PLACES.map((value) => ({ value, label: t(`maintenance.places.${value}`) }))}
          value={place}
          onChange={(value) => setPlace(value as (typeof PLACES)[number])}
        />
        {place === "labels" && (
          <TagsInput
            label={t("schedules.labels")}
            placeholder="role=feed"
            value={labels}
            onChange={setLabels}
            error={labels.some((one) => !parseLabel(one)) && t("services.selectorBad")}
          />
        )}
        {place === "host" && (
          <Select
            label={t("maintenance.host")}
            data={hosts.map((one) => ({ value: one.id, label: one.name }))}
            value={host}
            onChange={setHost}
            searchable
            limit={100}
          />
        )}
        <Textarea
          label={t("captures.reason")}
          required
          autosize
          minRows={2}
          maxLength={400}
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value)}
        />
        <ErrorLine error={add.error} />
        <div className={classes.buttons}>
          <Button
            type="submit"
            loading={add.isPending}
            disabled={!placed || reason.trim().length < 3 || !from || !until}
          >
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
