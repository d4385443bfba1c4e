import type { RequestBody } from "../../client/paths";
import type { Trigger, TriggerKind } from "./api";

type TriggerBody = RequestBody<"post", "/triggers">;
type TriggerUpdate = RequestBody<"patch", `/triggers/${string}`>;

/** Fields of the trigger form. */
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
  /** Stored options; options without a form field are sent unchanged. */
  otherOptions: Partial<Trigger["options"]>;
}

/** Return the draft of a trigger, or an empty draft. */
export function toTriggerDraft(trigger?: Trigger): TriggerDraft {
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
    channels: trigger?.channels.map((channel) => channel.id) ?? [],
    enabled: trigger?.enabled ?? true,
    otherOptions: options ?? {},
  };
}

/** Return the request body of a new trigger. */
export const toTriggerBody = (draft: TriggerDraft): TriggerBody => ({
  ...toTriggerUpdate(draft),
  kind: draft.kind,
  proof: draft.proof,
  ...(draft.proof === "hmac" && draft.secret ? { secret: draft.secret } : {}),
});

/** Return the request body of an update, without the immutable fields kind and proof. */
export function toTriggerUpdate(draft: TriggerDraft) {
  return {
    name: draft.name.trim(),
    enabled: draft.enabled,
    channel_ids: draft.channels,
    options: {
      ...draft.otherOptions,
      seconds: Number(draft.seconds),
      peers: Number(draft.peers),
      cooldown_s: Number(draft.cooldownMin) * 60,
      severity: Number(draft.severity),
      host_labels: draft.hostLabels,
    },
  } satisfies TriggerUpdate;
}
