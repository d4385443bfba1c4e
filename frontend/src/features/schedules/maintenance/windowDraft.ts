import type { Cadence } from "../../client/schedules";
import { labelsOf, parseLabel } from "../../core/labels";

export const PLACES = ["labels", "host", "everywhere"] as const;
/** As long as the server takes for one time: 90 days. */
export const MOST_MIN = 90 * 24 * 60;
const HOUR_MS = 3_600_000;

/** What somebody fills in for maintenance: one span, or times that come again between `from` and `until`. */
export interface WindowDraft {
  recurs: boolean;
  from: string;
  until: string;
  /** Until when it comes again; "" for no end. */
  stops: string;
  cron: string;
  zone: string;
  minutes: number | string;
  place: (typeof PLACES)[number];
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
export function beginsOf({ recurs, cron, zone }: WindowDraft): Cadence | undefined {
  return recurs && cron.trim() && zone ? { kind: "cron", cron: cron.trim(), zone } : undefined;
}

const lasts = ({ minutes }: WindowDraft): boolean =>
  Number.isInteger(minutes) && Number(minutes) >= 1 && Number(minutes) <= MOST_MIN;

export function complete(draft: WindowDraft): boolean {
  const placed =
    draft.place === "everywhere" ||
    (draft.place === "host"
      ? draft.host !== null
      : draft.labels.length > 0 && draft.labels.every((one) => parseLabel(one)));
  const timed = draft.recurs ? beginsOf(draft) !== undefined && lasts(draft) : draft.until !== "";
  return placed && timed && draft.from !== "" && draft.reason.trim().length >= 3;
}

export const windowBody = (draft: WindowDraft) => ({
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
