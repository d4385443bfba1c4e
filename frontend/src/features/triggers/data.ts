import { useQuery } from "@tanstack/react-query";
import type { Channel, Trigger } from "../../client/triggers";
import { all } from "../../lib/queries";

export const TRIGGERS = ["triggers"] as const;
export const ALERTS = ["alerts"] as const;
export const CHANNELS = ["channels"] as const;
export const ANNOTATIONS = ["grafana-annotations"] as const;
export const NOTICES = ["notices"] as const;
export const ALLOWANCES = ["tier-allowances"] as const;

export const useTriggers = () =>
  useQuery({ queryKey: TRIGGERS, queryFn: () => all<Trigger>("/triggers", {}) });
export const useChannels = (enabled: boolean) =>
  useQuery({ queryKey: CHANNELS, queryFn: () => all<Channel>("/channels", {}), enabled });
