import type { Trigger, TriggerKind } from "../../client/triggers";

/** What somebody types to make a trigger. */
export interface TriggerDraft {
  name: string;
  kind: TriggerKind;
  proof: "token" | "hmac";
  secret: string;
  seconds: number | string;
  peers: number | string;
  cooldownMin: number | string;
  severity: number | string;
  hostLabels: string[];
  channels: string[];
  enabled: boolean;
  /** What this form has no field for, kept as it was. */
  rest: Partial<Trigger["options"]>;
}

/** An empty draft, or a trigger as a draft. */
export function draftOf(trigger?: Trigger): TriggerDraft {
  const options = trigger?.options;
  return {
    name: trigger?.name ?? "",
    kind: trigger?.kind ?? "alertmanager",
    proof: trigger?.proof ?? "token",
    secret: "",
    seconds: options?.seconds ?? 8,
    peers: options?.peers ?? 2,
    cooldownMin: Math.round((options?.cooldown_s ?? 1800) / 60),
    severity: options?.severity ?? 3,
    hostLabels: options?.host_labels ?? [],
    channels: trigger?.channels.map((one) => one.id) ?? [],
    enabled: trigger?.enabled ?? true,
    rest: options ?? {},
  };
}

/** The body of a request; a change does not say again what cannot be changed. */
export function bodyOf(draft: TriggerDraft, change = false): Record<string, unknown> {
  return {
    name: draft.name.trim(),
    ...(change ? {} : { kind: draft.kind, proof: draft.proof }),
    ...(!change && draft.proof === "hmac" && draft.secret ? { secret: draft.secret } : {}),
    enabled: draft.enabled,
    channel_ids: draft.channels,
    options: {
      ...draft.rest,
      seconds: Number(draft.seconds),
      peers: Number(draft.peers),
      cooldown_s: Number(draft.cooldownMin) * 60,
      severity: Number(draft.severity),
      host_labels: draft.hostLabels,
    },
  };
}
