import {
  Autocomplete,
  Button,
  MultiSelect,
  SegmentedControl,
  Select,
  TagsInput,
  Textarea,
  TextInput,
} from "@mantine/core";
import { useState } from "react";
import type { ReportedEvent } from "../../client/models";
import { Dialog } from "../../components/Dialog";
import { ErrorLine } from "../../components/EmptyState";
import { TimeField } from "../../components/fields/TimeField";
import { parseLabel } from "../../core/hosts/labels";
import { eventKeys } from "../../lib/captures/events";
import { patch, post, queryKeys, useAction, useHosts, useServices } from "../../lib/queries";
import { useTranslation } from "../../lib/text/useTranslation";
import {
  EVENT_TARGETS,
  type EventDraft,
  emptyEventDraft,
  findInvalidFields,
  isEventComplete,
  KINDS,
  toEventBody,
  toEventDraft,
  toEventUpdate,
} from "./eventDraft";
import classes from "./events.module.css";

interface Props {
  /** The event to edit; without it, a new event is reported. */
  event?: ReportedEvent;
  /** Initially selected hosts. */
  hosts?: readonly string[];
  onClose: () => void;
}

/** Dialog that reports a deploy, a configuration change, a restart or a note, or edits a reported event. */
export function EventDialog({ event, hosts = [], onClose }: Props) {
  const { t } = useTranslation();
  const [draft, setDraft] = useState(() => (event ? toEventDraft(event) : emptyEventDraft(hosts)));
  const [once] = useState(() => crypto.randomUUID());
  const set = (part: Partial<EventDraft>) => setDraft((before) => ({ ...before, ...part }));
  const known = useHosts({}).data ?? [];
  const services = useServices().data ?? [];
  const bad = findInvalidFields(draft);
  // The response lists only the first hosts, so a new selection would remove the others.
  const fixed = event?.target.kind === "hosts" && event.target.host_count > event.target.hosts.length;
  const send = useAction(
    () =>
      event
        ? patch(`/reported-events/${event.id}`, toEventUpdate(draft, event))
        : post("/reported-events", toEventBody(draft), once),
    [eventKeys.events, queryKeys.hosts],
    onClose,
  );
  const errorText = (key: string | undefined) => key && t(key as "events.kindBad");
  return (
    <Dialog onClose={onClose} title={t(event ? "events.edit" : "events.report")} size="38rem">
      <form
        className={classes.stack}
        onSubmit={(submitted) => {
          submitted.preventDefault();
          send.mutate(undefined);
        }}
      >
        <div className={classes.row}>
          <Autocomplete
            label={t("events.kind")}
            data={[...KINDS]}
            value={draft.kind}
            onChange={(kind) => set({ kind })}
            error={errorText(bad.kind)}
            required
          />
          <TextInput
            label={t("events.who")}
            placeholder={t("events.whoHint")}
            maxLength={100}
            value={draft.who}
            onChange={(typed) => set({ who: typed.currentTarget.value })}
          />
        </div>
        <TextInput
          label={t("events.what")}
          placeholder="feed 4f2a"
          required
          data-autofocus
          maxLength={200}
          value={draft.what}
          onChange={(typed) => set({ what: typed.currentTarget.value })}
        />
        <div className={classes.row}>
          <TimeField label={t("events.at")} required value={draft.at} onChange={(at) => set({ at })} />
          <TimeField
            label={t("events.until")}
            value={draft.until}
            onChange={(until) => set({ until })}
            error={errorText(bad.until)}
          />
        </div>
        {!fixed && (
          <SegmentedControl
            aria-label={t("events.where")}
            data={EVENT_TARGETS.map((value) => ({ value, label: t(`events.targets.${value}`) }))}
            value={draft.target}
            onChange={(target) => set({ target: target as EventDraft["target"] })}
          />
        )}
        {!fixed && draft.target === "hosts" && (
          <MultiSelect
            label={t("events.targets.hosts")}
            data={known.map((host) => ({ value: host.id, label: host.name }))}
            value={draft.hosts}
            onChange={(chosen) => set({ hosts: chosen })}
            searchable
            limit={100}
          />
        )}
        {draft.target === "labels" && (
          <TagsInput
            label={t("schedules.labels")}
            placeholder="role=feed"
            value={draft.labels}
            onChange={(labels) => set({ labels })}
            error={draft.labels.some((label) => !parseLabel(label)) && t("services.selectorBad")}
          />
        )}
        {draft.target === "service" && (
          <Select
            label={t("events.targets.service")}
            data={services.map((service) => service.name)}
            value={draft.service}
            onChange={(service) => set({ service })}
            searchable
          />
        )}
        <TextInput
          label={t("events.link")}
          placeholder="https://ci.example/jobs/4711"
          value={draft.link}
          onChange={(typed) => set({ link: typed.currentTarget.value })}
          error={errorText(bad.link)}
        />
        <Textarea
          label={t("events.detail")}
          autosize
          minRows={2}
          maxRows={8}
          maxLength={4000}
          value={draft.detail}
          onChange={(typed) => set({ detail: typed.currentTarget.value })}
        />
        <ErrorLine error={send.error} />
        <div className={classes.buttons}>
          <Button type="submit" loading={send.isPending} disabled={!isEventComplete(draft)}>
            {t(event ? "action.save" : "events.report")}
          </Button>
          <Button variant="default" onClick={onClose}>
            {t("action.cancel")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
