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
import { useTranslation } from "react-i18next";
import type { ToldEvent } from "../../client/events";
import { Dialog } from "../../components/Dialog";
import { ErrorLine } from "../../components/States";
import { TimeField } from "../../components/TimeField";
import { parseLabel } from "../../core/labels";
import { eventKeys } from "../../lib/events";
import { keys, patch, post, useAction, useHosts, useServices } from "../../lib/queries";
import {
  blank,
  bodyOf,
  changes,
  complete,
  draftOf,
  type EventDraft,
  KINDS,
  PLACES,
  wrong,
} from "./eventDraft";
import classes from "./events.module.css";

interface Props {
  /** The event to correct; without it a new one is told. */
  event?: ToldEvent;
  /** The hosts to begin with. */
  hosts?: readonly string[];
  onClose: () => void;
}

/** Puts a deploy, a change or a note on the timelines of hosts, or corrects one that stands there. */
export function EventDialog({ event, hosts = [], onClose }: Props) {
  const { t } = useTranslation();
  const [draft, setDraft] = useState(() => (event ? draftOf(event) : blank(hosts)));
  const [once] = useState(() => crypto.randomUUID());
  const set = (part: Partial<EventDraft>) => setDraft((before) => ({ ...before, ...part }));
  const known = useHosts({}).data ?? [];
  const services = useServices().data ?? [];
  const bad = wrong(draft);
  // Of very many hosts not all are here: to choose anew would take the others away.
  const fixed = event?.where.kind === "hosts" && event.where.hosts_total > event.where.hosts.length;
  const send = useAction(
    () =>
      event
        ? patch<ToldEvent>(`/events/${event.id}`, changes(draft, event))
        : post<ToldEvent>("/events", bodyOf(draft), once),
    [eventKeys.events, keys.hosts],
    onClose,
  );
  const said = (key: string | undefined) => key && t(key as "events.kindBad");
  return (
    <Dialog onClose={onClose} title={t(event ? "events.correct" : "events.tell")} size="38rem">
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
            error={said(bad.kind)}
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
            error={said(bad.until)}
          />
        </div>
        {!fixed && (
          <SegmentedControl
            aria-label={t("events.where")}
            data={PLACES.map((value) => ({ value, label: t(`events.places.${value}`) }))}
            value={draft.place}
            onChange={(place) => set({ place: place as EventDraft["place"] })}
          />
        )}
        {!fixed && draft.place === "hosts" && (
          <MultiSelect
            label={t("events.places.hosts")}
            data={known.map((one) => ({ value: one.id, label: one.name }))}
            value={draft.hosts}
            onChange={(chosen) => set({ hosts: chosen })}
            searchable
            limit={100}
          />
        )}
        {draft.place === "labels" && (
          <TagsInput
            label={t("schedules.labels")}
            placeholder="role=feed"
            value={draft.labels}
            onChange={(labels) => set({ labels })}
            error={draft.labels.some((one) => !parseLabel(one)) && t("services.selectorBad")}
          />
        )}
        {draft.place === "service" && (
          <Select
            label={t("events.places.service")}
            data={services.map((one) => one.name)}
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
          error={said(bad.link)}
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
          <Button type="submit" loading={send.isPending} disabled={!complete(draft)}>
            {t(event ? "action.save" : "events.tell")}
          </Button>
          <Button variant="default" onClick={onClose}>
            {t("action.cancel")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
