import type { Cadence, Schedule } from "../../../client/models";
import type { RequestBody } from "../../../client/paths";
import { labelsOf, parseLabel } from "../../../core/hosts/labels";

type ScheduleBody = RequestBody<"post", "/schedules">;
type ScheduleUpdate = RequestBody<"patch", `/schedules/${string}`>;
/** Request fields of the form; `cadence` and `target` are undefined until they are filled in. */
type Parts = Omit<ScheduleBody, "cadence" | "target" | "allow_deep"> & {
  cadence: ScheduleBody["cadence"] | undefined;
  target: ScheduleBody["target"] | undefined;
};

export const CUSTOM_CADENCE = "custom";

/** The fields of the schedule form. */
export interface ScheduleDraft {
  name: string;
  kind: Cadence["kind"];
  cron: string;
  localTime: string;
  zone: string;
  plan: string;
  seconds: number | string;
  collectors: readonly string[];
  where: "labels" | "hosts";
  labels: readonly string[];
  hosts: readonly string[];
  reason: string;
  catchUp: boolean;
  toleranceMin: number | string;
  allowDeep: boolean;
}

/** Return the default draft: a baseline capture every night in time zone `zone`, for later comparisons. */
export const emptyDraft = (zone: string): ScheduleDraft => ({
  name: "",
  kind: "cron",
  cron: "30 3 * * *",
  localTime: "",
  zone,
  plan: "baseline",
  seconds: "",
  collectors: [],
  where: "labels",
  labels: [],
  hosts: [],
  reason: "",
  catchUp: false,
  toleranceMin: 5,
  allowDeep: false,
});

export function toScheduleDraft(schedule: Schedule): ScheduleDraft {
  return {
    name: schedule.name,
    kind: schedule.cadence.kind,
    cron: schedule.cadence.kind === "cron" ? schedule.cadence.cron : "30 3 * * *",
    localTime: schedule.cadence.kind === "once" ? schedule.cadence.local_time.slice(0, 16) : "",
    zone: schedule.cadence.zone,
    plan: schedule.capture.plan,
    seconds: schedule.capture.seconds ?? "",
    collectors: schedule.capture.collectors ?? [],
    where: schedule.labels ? "labels" : "hosts",
    labels: Object.entries(schedule.labels ?? {}).map(([name, value]) => `${name}=${value}`),
    hosts: schedule.hosts.map((host) => host.id),
    reason: schedule.reason,
    catchUp: schedule.catch_up === "one",
    toleranceMin: schedule.tolerance_s / 60,
    allowDeep: schedule.deep_allowed,
  };
}

/** Return the cadence, or undefined while its fields are empty. */
export function toCadence({ kind, cron, localTime, zone }: ScheduleDraft): Cadence | undefined {
  if (!zone) return undefined;
  if (kind === "cron") return cron.trim() ? { kind, cron: cron.trim(), zone } : undefined;
  return localTime
    ? { kind, local_time: localTime.length === 16 ? `${localTime}:00` : localTime, zone }
    : undefined;
}

/** Return the hosts or labels to capture, or undefined while none is selected or a label is malformed. */
export function toTarget({ where, labels, hosts }: ScheduleDraft): Parts["target"] {
  if (where === "hosts") return hosts.length > 0 ? { host_ids: hosts } : undefined;
  return labels.length > 0 && labels.every((label) => parseLabel(label))
    ? { labels: labelsOf(labels) }
    : undefined;
}

function toCaptureRequest(draft: ScheduleDraft, before?: Schedule): ScheduleBody["capture"] {
  const same = before?.capture.plan === draft.plan;
  return {
    plan: draft.plan,
    ...(draft.seconds === "" ? {} : { seconds: Number(draft.seconds) }),
    ...(draft.plan === CUSTOM_CADENCE ? { collectors: draft.collectors } : {}),
    // The form does not edit scope and collector options; they are kept unless the plan changes.
    ...(same && before ? { scope: before.capture.scope, options: before.capture.options } : {}),
  };
}

export function isScheduleComplete(draft: ScheduleDraft): boolean {
  const chosen = draft.plan !== CUSTOM_CADENCE || draft.collectors.length > 0;
  return (
    draft.name.trim() !== "" && chosen && toCadence(draft) !== undefined && toTarget(draft) !== undefined
  );
}

const toParts = (draft: ScheduleDraft, before?: Schedule): Parts => ({
  name: draft.name.trim(),
  cadence: toCadence(draft),
  capture: toCaptureRequest(draft, before),
  target: toTarget(draft),
  reason: draft.reason.trim(),
  catch_up: draft.catchUp ? "one" : "none",
  tolerance_s: Math.round(Number(draft.toleranceMin) * 60),
});

/** Return the request body of a new schedule, or undefined while its cadence or target is incomplete. */
export function toCreateBody(draft: ScheduleDraft): ScheduleBody | undefined {
  const { cadence, target, ...others } = toParts(draft);
  if (!cadence || !target) return undefined;
  return { ...others, cadence, target, ...(draft.allowDeep ? { allow_deep: true } : {}) };
}

/** Return only changed fields, because a user who changes the plan, hosts or times becomes the owner. */
export function toUpdateBody(draft: ScheduleDraft, before: Schedule): ScheduleUpdate {
  const changed = pickChanged(toParts(draft, before), toParts(toScheduleDraft(before), before));
  const deep = draft.allowDeep === before.deep_allowed ? {} : { allow_deep: draft.allowDeep };
  return { version: before.version, ...changed, ...deep };
}

function pickChanged<T extends object>(now: T, was: T): Partial<T> {
  const changed: Partial<T> = {};
  for (const name of Object.keys(now) as (keyof T)[])
    if (JSON.stringify(now[name]) !== JSON.stringify(was[name])) changed[name] = now[name];
  return changed;
}
