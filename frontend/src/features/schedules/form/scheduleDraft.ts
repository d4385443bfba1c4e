import type { Cadence, Schedule } from "../../client/schedules";
import { labelsOf, parseLabel } from "../../core/labels";

export const CUSTOM = "custom";

/** What somebody fills in for a schedule. */
export interface ScheduleDraft {
  name: string;
  kind: Cadence["kind"];
  cron: string;
  wall: string;
  zone: string;
  plan: string;
  seconds: number | string;
  collectors: readonly string[];
  where: "labels" | "hosts";
  labels: readonly string[];
  hosts: readonly string[];
  reason: string;
  catchUp: boolean;
  graceMin: number | string;
  allowDeep: boolean;
}

/** A quiet capture every night, in the reader's own zone: what later comparisons need. */
export const emptyDraft = (zone: string): ScheduleDraft => ({
  name: "",
  kind: "cron",
  cron: "30 3 * * *",
  wall: "",
  zone,
  plan: "baseline",
  seconds: "",
  collectors: [],
  where: "labels",
  labels: [],
  hosts: [],
  reason: "",
  catchUp: false,
  graceMin: 5,
  allowDeep: false,
});

export function draftOf(one: Schedule): ScheduleDraft {
  return {
    name: one.name,
    kind: one.cadence.kind,
    cron: one.cadence.kind === "cron" ? one.cadence.cron : "30 3 * * *",
    wall: one.cadence.kind === "once" ? one.cadence.wall.slice(0, 16) : "",
    zone: one.cadence.zone,
    plan: one.wanted.plan,
    seconds: one.wanted.seconds ?? "",
    collectors: one.wanted.collectors ?? [],
    where: one.labels ? "labels" : "hosts",
    labels: Object.entries(one.labels ?? {}).map(([name, value]) => `${name}=${value}`),
    hosts: one.hosts.map((host) => host.id),
    reason: one.reason,
    catchUp: one.catch_up === "one",
    graceMin: one.grace_s / 60,
    allowDeep: one.deep_allowed,
  };
}

/** When it is due; undefined while that is not filled in. */
export function cadenceOf({ kind, cron, wall, zone }: ScheduleDraft): Cadence | undefined {
  if (!zone) return undefined;
  if (kind === "cron") return cron.trim() ? { kind, cron: cron.trim(), zone } : undefined;
  return wall ? { kind, wall: wall.length === 16 ? `${wall}:00` : wall, zone } : undefined;
}

/** Where it captures; undefined while nothing is chosen. */
export function targetOf({ where, labels, hosts }: ScheduleDraft) {
  if (where === "hosts") return hosts.length > 0 ? { host_ids: hosts } : undefined;
  return labels.length > 0 && labels.every((one) => parseLabel(one))
    ? { labels: labelsOf(labels) }
    : undefined;
}

function wantedOf(draft: ScheduleDraft, before?: Schedule) {
  const same = before?.wanted.plan === draft.plan;
  return {
    plan: draft.plan,
    ...(draft.seconds === "" ? {} : { seconds: Number(draft.seconds) }),
    ...(draft.plan === CUSTOM ? { collectors: draft.collectors } : {}),
    // What to look at and what collectors were told is not edited here, and stays with its plan.
    ...(same && before ? { scope: before.wanted.scope, options: before.wanted.options } : {}),
  };
}

export function complete(draft: ScheduleDraft): boolean {
  const chosen = draft.plan !== CUSTOM || draft.collectors.length > 0;
  return (
    draft.name.trim() !== "" && chosen && cadenceOf(draft) !== undefined && targetOf(draft) !== undefined
  );
}

const parts = (draft: ScheduleDraft, before?: Schedule) => ({
  name: draft.name.trim(),
  cadence: cadenceOf(draft),
  wanted: wantedOf(draft, before),
  target: targetOf(draft),
  reason: draft.reason.trim(),
  catch_up: draft.catchUp ? "one" : "none",
  grace_s: Math.round(Number(draft.graceMin) * 60),
});

export const createBody = (draft: ScheduleDraft) => ({
  ...parts(draft),
  ...(draft.allowDeep ? { allow_deep: true } : {}),
});

/** Only what differs: whoever changes what, where or when it captures owns it from then on. */
export function updateBody(draft: ScheduleDraft, before: Schedule): Record<string, unknown> {
  const was = parts(draftOf(before), before) as Record<string, unknown>;
  const changed = Object.entries(parts(draft, before)).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(was[name]),
  );
  const deep = draft.allowDeep === before.deep_allowed ? {} : { allow_deep: draft.allowDeep };
  return { version: before.version, ...Object.fromEntries(changed), ...deep };
}
