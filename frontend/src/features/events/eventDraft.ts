import type { ReportedEvent } from "../../client/models";
import type { RequestBody } from "../../client/paths";
import { labelsOf, parseLabel } from "../../core/hosts/labels";

type EventBody = RequestBody<"post", "/reported-events">;
type EventUpdate = RequestBody<"patch", `/reported-events/${string}`>;

export const KINDS = ["deploy", "config", "restart", "note"] as const;
export const EVENT_TARGETS = ["hosts", "labels", "service", "everywhere"] as const;
export type EventTarget = (typeof EVENT_TARGETS)[number];

/** Form values of an event. */
export interface EventDraft {
  kind: string;
  what: string;
  who: string;
  detail: string;
  link: string;
  at: string;
  until: string;
  target: EventTarget;
  hosts: string[];
  labels: string[];
  service: string | null;
}

export const emptyEventDraft = (hosts: readonly string[]): EventDraft => ({
  kind: "note",
  what: "",
  who: "",
  detail: "",
  link: "",
  at: new Date().toISOString(),
  until: "",
  target: "hosts",
  hosts: [...hosts],
  labels: [],
  service: null,
});

export const toEventDraft = (event: ReportedEvent): EventDraft => ({
  kind: event.kind,
  what: event.what,
  who: event.who,
  detail: event.detail,
  link: event.link ?? "",
  at: event.at,
  until: event.until ?? "",
  target: event.target.kind,
  hosts: event.target.kind === "hosts" ? event.target.hosts.map((host) => host.id) : [],
  labels: Object.entries(event.target.labels ?? {}).map(([name, value]) => `${name}=${value}`),
  service: event.target.service,
});

export const KIND_PATTERN = /^[a-z][a-z0-9_-]{0,31}$/;
const LINK_PATTERN = /^https?:\/\/[!-~]+$/;

/** Message keys of fields that are not valid. */
export const findInvalidFields = (draft: EventDraft): { kind?: string; link?: string; until?: string } => ({
  ...(KIND_PATTERN.test(draft.kind) ? {} : { kind: "events.kindBad" }),
  ...(draft.link === "" || LINK_PATTERN.test(draft.link.trim()) ? {} : { link: "events.linkBad" }),
  ...(draft.until === "" || Date.parse(draft.until) > Date.parse(draft.at)
    ? {}
    : { until: "events.untilBad" }),
});

const hasTarget = ({ target, hosts, labels, service }: EventDraft): boolean =>
  target === "everywhere" ||
  (target === "hosts" && hosts.length > 0) ||
  (target === "labels" && labels.length > 0 && labels.every((label) => parseLabel(label))) ||
  (target === "service" && service !== null);

export const isEventComplete = (draft: EventDraft): boolean =>
  draft.what.trim() !== "" &&
  draft.at !== "" &&
  hasTarget(draft) &&
  Object.keys(findInvalidFields(draft)).length === 0;

const targetFields = (draft: EventDraft): Pick<EventBody, "everywhere" | "hosts" | "labels" | "service"> =>
  draft.target === "everywhere"
    ? { everywhere: true }
    : draft.target === "hosts"
      ? { hosts: draft.hosts }
      : draft.target === "service"
        ? { service: draft.service }
        : { labels: labelsOf(draft.labels) };

/** Request body of a new event. */
export const toEventBody = (draft: EventDraft): EventBody => ({
  kind: draft.kind,
  what: draft.what.trim(),
  who: draft.who.trim(),
  detail: draft.detail,
  at: draft.at,
  ...(draft.until ? { until: draft.until } : {}),
  ...(draft.link ? { link: draft.link.trim() } : {}),
  ...targetFields(draft),
});

/** Request body of an update: only changed fields, so that a time keeps its microseconds. */
export function toEventUpdate(draft: EventDraft, event: ReportedEvent): EventUpdate {
  const before = toEventDraft(event);
  const texts: Partial<Record<"kind" | "what" | "who" | "detail" | "at", string>> = {};
  for (const name of ["kind", "what", "who", "detail", "at"] as const)
    if (draft[name].trim() !== before[name]) texts[name] = draft[name].trim();
  const moved =
    draft.target !== before.target ||
    draft.service !== before.service ||
    draft.hosts.join() !== before.hosts.join() ||
    draft.labels.join() !== before.labels.join();
  return {
    ...texts,
    ...(draft.until !== before.until ? { until: draft.until || null } : {}),
    ...(draft.link !== before.link ? { link: draft.link.trim() || null } : {}),
    ...(moved ? targetFields(draft) : {}),
  };
}
