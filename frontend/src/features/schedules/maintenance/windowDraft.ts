import type { Cadence } from "../../../client/models";
import { labelsOf, parseLabel } from "../../../core/hosts/labels";

export const TARGETS = ["labels", "host", "everywhere"] as const;
/** The longest occurrence that the server accepts: 90 days. */
export const MAX_MINUTES = 90 * 24 * 60;
const HOUR_MS = 3_600_000;

/** Fields of the maintenance form. A single window ends at `until`; a recurrence ends at `stops`. */
export interface WindowDraft {
  recurs: boolean;
  from: string;
  until: string;
  /** End of the recurrence; "" for no end. */
  stops: string;
  cron: string;
  zone: string;
  minutes: number | string;
  place: (typeof TARGETS)[number];
  labels: readonly string[];
  host: string | null;
  reason: string;
}

/** Return the default draft: one hour from `now`; when it recurs, every Sunday at 04:00 for two hours. */
export const emptyWindow = (zone: string, now: number): WindowDraft => ({
  recurs: false,
  from: new Date(now).toISOString(),
  until: new Date(now + HOUR_MS).toISOString(),
  stops: "",
  cron: "0 4 * * 0",
  zone,
  minutes: 120,
  place: "labels",
  labels: [],
  host: null,
  reason: "",
});

/** Return the cadence of a recurring window; undefined for a single window, or while the fields are empty. */
export function toWindowCadence({ recurs, cron, zone }: WindowDraft): Cadence | undefined {
  return recurs && cron.trim() && zone ? { kind: "cron", cron: cron.trim(), zone } : undefined;
}

const isDurationValid = ({ minutes }: WindowDraft): boolean =>
  Number.isInteger(minutes) && Number(minutes) >= 1 && Number(minutes) <= MAX_MINUTES;

export function isWindowComplete(draft: WindowDraft): boolean {
  const placed =
    draft.place === "everywhere" ||
    (draft.place === "host"
      ? draft.host !== null
      : draft.labels.length > 0 && draft.labels.every((label) => parseLabel(label)));
  const timed = draft.recurs
    ? toWindowCadence(draft) !== undefined && isDurationValid(draft)
    : draft.until !== "";
  return placed && timed && draft.from !== "" && draft.reason.trim().length >= 3;
}

export const toWindowBody = (draft: WindowDraft) => ({
  starts_at: draft.from,
  ...(draft.recurs
    ? {
        ...(draft.stops ? { ends_at: draft.stops } : {}),
        recurs: { cron: draft.cron.trim(), zone: draft.zone, minutes: Number(draft.minutes) },
      }
    : { ends_at: draft.until }),
  reason: draft.reason.trim(),
  ...(draft.place === "host" ? { host_id: draft.host } : {}),
  ...(draft.place === "labels" ? { labels: labelsOf(draft.labels) } : {}),
});
