import type { Cadence } from "../../../client/models";
import { labelsOf, parseLabel } from "../../../core/hosts/labels";

export const TARGETS = ["labels", "host", "everywhere"] as const;
/** As long as the server takes for one time: 90 days. */
export const MAX_MINUTES = 90 * 24 * 60;
const HOUR_MS = 3_600_000;

/** The fields of the maintenance form: one span, or times that repeat between `from` and `until`. */
export interface WindowDraft {
  recurs: boolean;
  from: string;
  until: string;
  /** Until when it comes again; "" for no end. */
  stops: string;
  cron: string;
  zone: string;
  minutes: number | string;
  place: (typeof TARGETS)[number];
  labels: readonly string[];
  host: string | null;
  reason: string;
}

/** An hour from now on, or two hours of every Sunday morning. */
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

/** When its times begin; undefined where it is one span, or while that is not filled in. */
export function toStart({ recurs, cron, zone }: WindowDraft): Cadence | undefined {
  return recurs && cron.trim() && zone ? { kind: "cron", cron: cron.trim(), zone } : undefined;
}

const durationMinutes = ({ minutes }: WindowDraft): boolean =>
  Number.isInteger(minutes) && Number(minutes) >= 1 && Number(minutes) <= MAX_MINUTES;

export function isWindowComplete(draft: WindowDraft): boolean {
  const placed =
    draft.place === "everywhere" ||
    (draft.place === "host"
      ? draft.host !== null
      : draft.labels.length > 0 && draft.labels.every((label) => parseLabel(label)));
  const timed = draft.recurs ? toStart(draft) !== undefined && durationMinutes(draft) : draft.until !== "";
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
