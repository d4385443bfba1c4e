import type { ConditionKind } from "../../client/models";
import type { RequestBody } from "../../client/paths";

type WatcherBody = RequestBody<"post", "/watchers">;
type ConditionBody = Extract<WatcherBody, { kind: "conditional" }>["conditions"][number];
/** Request body without the host. */
type SharedBody =
  | Omit<Extract<WatcherBody, { kind: "conditional" }>, "host_id">
  | Omit<Extract<WatcherBody, { kind: "lookback" }>, "host_id">;

export const MAX_CONDITIONS = 4;
export const MAX_HOURS = 24;

export interface ConditionDraft {
  id: number;
  kind: string;
  key: string;
  op: "over" | "under";
  limit: number | string;
  required_hits: number | string;
  window_readings: number | string;
}

export interface WatcherDraft {
  kind: "lookback" | "conditional";
  hosts: string[];
  hours: number | string;
  minutes: number | string;
  stacks: boolean;
  conditions: ConditionDraft[];
  plan: string;
  seconds: number | string;
  maxCaptures: number | string;
  cooldownMinutes: number | string;
  reason: string;
}

export const emptyCondition = (id: number): ConditionDraft => ({
  id,
  kind: "unit_start",
  key: "",
  op: "over",
  limit: "",
  required_hits: 3,
  window_readings: 5,
});

export const emptyDraft = (hosts: readonly string[]): WatcherDraft => ({
  kind: "conditional",
  hosts: [...hosts],
  hours: 4,
  minutes: 10,
  stacks: false,
  conditions: [emptyCondition(0)],
  plan: "triage",
  seconds: "",
  maxCaptures: 1,
  cooldownMinutes: 10,
  reason: "",
});

/** Return the condition for the request, or undefined while a field is missing or out of range. */
export function toCondition(
  draft: ConditionDraft,
  kinds: readonly ConditionKind[],
): ConditionBody | undefined {
  const known = kinds.find((conditionKind) => conditionKind.kind === draft.kind);
  if (!known || !new RegExp(`^(?:${known.key})$`).test(draft.key.trim())) return undefined;
  if (known.is_start) return { kind: known.kind, key: draft.key.trim() };
  const [limit, requiredHits, windowReadings] = [draft.limit, draft.required_hits, draft.window_readings].map(
    Number,
  ) as [number, number, number];
  const isComplete =
    draft.limit !== "" &&
    Number.isFinite(limit) &&
    limit >= 0 &&
    requiredHits >= 1 &&
    requiredHits <= windowReadings;
  if (!isComplete) return undefined;
  return {
    kind: known.kind,
    key: draft.key.trim(),
    op: draft.op,
    limit,
    required_hits: requiredHits,
    window_readings: windowReadings,
  };
}

const hoursOf = (draft: WatcherDraft) => {
  const hours = Number(draft.hours);
  return hours > 0 && hours <= MAX_HOURS ? hours : undefined;
};

/** Return a request body per host, optionally for an incident; undefined while the draft is incomplete. */
export function toWatcherBodies(
  draft: WatcherDraft,
  kinds: readonly ConditionKind[],
  incident = "",
): WatcherBody[] | undefined {
  const body = bodyOf(draft, kinds);
  if (!body || draft.hosts.length === 0) return undefined;
  const about = incident ? { incident_id: incident } : {};
  return draft.hosts.map((host) =>
    body.kind === "conditional" ? { ...body, host_id: host, ...about } : { ...body, host_id: host },
  );
}

function bodyOf(draft: WatcherDraft, kinds: readonly ConditionKind[]): SharedBody | undefined {
  const hours = hoursOf(draft);
  if (hours === undefined) return undefined;
  const common = { hours, reason: draft.reason.trim() };
  if (draft.kind === "lookback") {
    const minutes = Number(draft.minutes);
    const body = {
      kind: draft.kind,
      ...common,
      seconds: Math.round(minutes * 60),
      ...(draft.stacks ? { stacks: true } : {}),
    };
    return minutes >= 1 && minutes <= 30 ? body : undefined;
  }
  const conditions = draft.conditions.flatMap((conditionDraft) => toCondition(conditionDraft, kinds) ?? []);
  if (conditions.length < draft.conditions.length) return undefined;
  return {
    kind: draft.kind,
    ...common,
    conditions,
    plan: draft.plan,
    ...(draft.seconds === "" ? {} : { seconds: Number(draft.seconds) }),
    max_captures: Number(draft.maxCaptures) || 1,
    cooldown_s: Math.max(60, Math.round((Number(draft.cooldownMinutes) || 1) * 60)),
  };
}
