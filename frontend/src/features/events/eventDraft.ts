import type { ToldEvent } from "../../client/events";
import { labelsOf, parseLabel } from "../../core/labels";

export const KINDS = ["deploy", "config", "restart", "note"] as const;
export const PLACES = ["hosts", "labels", "service", "everywhere"] as const;
export type Place = (typeof PLACES)[number];

/** What is typed about an event. */
export interface EventDraft {
  kind: string;
  what: string;
  who: string;
  detail: string;
  link: string;
  at: string;
  until: string;
  place: Place;
  hosts: string[];
  labels: string[];
  service: string | null;
}

export const blank = (hosts: readonly string[]): EventDraft => ({
  kind: "note",
  what: "",
  who: "",
  detail: "",
  link: "",
  at: new Date().toISOString(),
  until: "",
  place: "hosts",
  hosts: [...hosts],
  labels: [],
  service: null,
});

export const draftOf = (event: ToldEvent): EventDraft => ({
  kind: event.kind,
  what: event.what,
  who: event.who,
  detail: event.detail,
  link: event.link ?? "",
  at: event.at,
  until: event.until ?? "",
  place: event.where.kind,
  hosts: event.where.kind === "hosts" ? event.where.hosts.map((one) => one.id) : [],
  labels: Object.entries(event.where.labels ?? {}).map(([name, value]) => `${name}=${value}`),
  service: event.where.service,
});

export const KIND = /^[a-z][a-z0-9_-]{0,31}$/;
const LINK = /^https?:\/\/[!-~]+$/;

/** What is wrong with a field, as the end of a text's key; undefined where nothing is. */
export const wrong = (draft: EventDraft): { kind?: string; link?: string; until?: string } => ({
  ...(KIND.test(draft.kind) ? {} : { kind: "events.kindBad" }),
  ...(draft.link === "" || LINK.test(draft.link.trim()) ? {} : { link: "events.linkBad" }),
  ...(draft.until === "" || Date.parse(draft.until) > Date.parse(draft.at)
    ? {}
    : { until: "events.untilBad" }),
});

const placed = ({ place, hosts, labels, service }: EventDraft): boolean =>
  place === "everywhere" ||
  (place === "hosts" && hosts.length > 0) ||
  (place === "labels" && labels.length > 0 && labels.every((one) => parseLabel(one))) ||
  (place === "service" && service !== null);

export const complete = (draft: EventDraft): boolean =>
  draft.what.trim() !== "" && draft.at !== "" && placed(draft) && Object.keys(wrong(draft)).length === 0;

const where = (draft: EventDraft): Record<string, unknown> =>
  draft.place === "everywhere"
    ? { everywhere: true }
    : draft.place === "hosts"
      ? { hosts: draft.hosts }
      : draft.place === "service"
        ? { service: draft.service }
        : { labels: labelsOf(draft.labels) };

/** What to send to tell it. */
export const bodyOf = (draft: EventDraft): Record<string, unknown> => ({
  kind: draft.kind,
  what: draft.what.trim(),
  who: draft.who.trim(),
  detail: draft.detail,
  at: draft.at,
  ...(draft.until ? { until: draft.until } : {}),
  ...(draft.link ? { link: draft.link.trim() } : {}),
  ...where(draft),
});

/** What to send to correct it: only what was changed, so that a time keeps its microseconds. */
export function changes(draft: EventDraft, event: ToldEvent): Record<string, unknown> {
  const before = draftOf(event);
  const texts = (["kind", "what", "who", "detail", "at"] as const).filter(
    (name) => draft[name].trim() !== before[name],
  );
  const moved =
    draft.place !== before.place ||
    draft.service !== before.service ||
    draft.hosts.join() !== before.hosts.join() ||
    draft.labels.join() !== before.labels.join();
  return {
    ...Object.fromEntries(texts.map((name) => [name, draft[name].trim()])),
    ...(draft.until !== before.until ? { until: draft.until || null } : {}),
    ...(draft.link !== before.link ? { link: draft.link.trim() || null } : {}),
    ...(moved ? where(draft) : {}),
  };
}
