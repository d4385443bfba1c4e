import type { Condition, ConditionKind } from "../../client/standbys";

export const MAX_CONDITIONS = 4;
export const MAX_HOURS = 24;

export interface ConditionDraft {
  id: number;
  kind: string;
  key: string;
  op: "over" | "under";
  limit: number | string;
  hits: number | string;
  of: number | string;
}

export interface ArmDraft {
  kind: "ring" | "armed";
  hosts: string[];
  hours: number | string;
  minutes: number | string;
  stacks: boolean;
  conditions: ConditionDraft[];
  plan: string;
  seconds: number | string;
  firesMax: number | string;
  cooldownMinutes: number | string;
  reason: string;
}

export const emptyCondition = (id: number): ConditionDraft => ({
  id,
  kind: "unit_start",
  key: "",
  op: "over",
  limit: "",
  hits: 3,
  of: 5,
});

export const emptyDraft = (hosts: readonly string[]): ArmDraft => ({
  kind: "armed",
  hosts: [...hosts],
  hours: 4,
  minutes: 10,
  stacks: false,
  conditions: [emptyCondition(0)],
  plan: "triage",
  seconds: "",
  firesMax: 1,
  cooldownMinutes: 10,
  reason: "",
});

/** A condition as it is sent; undefined while something of it is missing or does not fit. */
export function conditionOf(
  draft: ConditionDraft,
  kinds: readonly ConditionKind[],
): Condition | { kind: string; key: string } | undefined {
  const known = kinds.find((one) => one.kind === draft.kind);
  if (!known || !new RegExp(`^(?:${known.key})$`).test(draft.key.trim())) return undefined;
  if (known.starts) return { kind: draft.kind, key: draft.key.trim() };
  const [limit, hits, of] = [draft.limit, draft.hits, draft.of].map(Number) as [number, number, number];
  const whole = draft.limit !== "" && Number.isFinite(limit) && limit >= 0 && hits >= 1 && hits <= of;
  return whole ? { kind: draft.kind, key: draft.key.trim(), op: draft.op, limit, hits, of } : undefined;
}

const hoursOf = (draft: ArmDraft) => {
  const hours = Number(draft.hours);
  return hours > 0 && hours <= MAX_HOURS ? hours : undefined;
};

type Body = Record<string, unknown>;

/** What is sent for each host, for an incident or for none; undefined while it is not whole. */
export function bodiesOf(
  draft: ArmDraft,
  kinds: readonly ConditionKind[],
  incident = "",
): Body[] | undefined {
  const body = bodyOf(draft, kinds);
  if (!body || draft.hosts.length === 0) return undefined;
  const about = incident && draft.kind === "armed" ? { incident_id: incident } : {};
  return draft.hosts.map((host) => ({ ...body, host_id: host, ...about }));
}

function bodyOf(draft: ArmDraft, kinds: readonly ConditionKind[]): Body | undefined {
  const hours = hoursOf(draft);
  if (hours === undefined) return undefined;
  const common = { kind: draft.kind, hours, reason: draft.reason.trim() };
  if (draft.kind === "ring") {
    const minutes = Number(draft.minutes);
    const ring = { ...common, seconds: Math.round(minutes * 60), ...(draft.stacks ? { stacks: true } : {}) };
    return minutes >= 1 && minutes <= 30 ? ring : undefined;
  }
  const conditions = draft.conditions.map((one) => conditionOf(one, kinds));
  if (conditions.some((one) => one === undefined)) return undefined;
  return {
    ...common,
    conditions,
    plan: draft.plan,
    ...(draft.seconds === "" ? {} : { seconds: Number(draft.seconds) }),
    fires_max: Number(draft.firesMax) || 1,
    cooldown_s: Math.max(60, Math.round((Number(draft.cooldownMinutes) || 1) * 60)),
  };
}
