import { useQuery } from "@tanstack/react-query";
import type { components } from "../../client/schema";
import { fetchAll } from "../../lib/queries";

type Schemas = components["schemas"];
export type Alert = Schemas["AlertResponse"];
export type AlertState = Alert["state"];
export type Trigger = Schemas["TriggerResponse"];
export type TriggerKind = Trigger["kind"];
export type TriggerTest = Schemas["TriggerTestResponse"];
export type UnattendedTier = Schemas["UnattendedTierResponse"];
export const ALERT_STATES = ["started", "joined", "deferred", "refused", "unmatched"] as const;
export const TRIGGER_KINDS = ["alertmanager", "grafana", "pagerduty", "generic"] as const;

export const TRIGGERS = ["triggers"] as const;
export const ALERTS = ["alerts"] as const;
export const CHANNELS = ["channels"] as const;
export const UNATTENDED_TIERS = ["unattended-tiers"] as const;

export const useTriggers = () => useQuery({ queryKey: TRIGGERS, queryFn: () => fetchAll("/triggers", {}) });
export const useChannels = (enabled: boolean) =>
  useQuery({ queryKey: CHANNELS, queryFn: () => fetchAll("/channels", {}), enabled });
