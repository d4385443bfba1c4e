import { useQuery } from "@tanstack/react-query";
import type { Channel } from "../../client/models";
import type { components } from "../../client/schema";
import { fetchAll } from "../../lib/queries";

type Schemas = components["schemas"];
export type ChannelKind = Channel["kind"];
export type GrafanaAnnotation = Schemas["GrafanaAnnotationResponse"];
export type Notification = Schemas["NotificationResponse"];
export type NotificationState = Notification["state"];
export const CHANNEL_KINDS = ["webhook", "slack", "email", "grafana"] as const;

export const CHANNELS = ["channels"] as const;
export const ANNOTATIONS = ["grafana-annotations"] as const;
export const NOTIFICATIONS = ["notifications"] as const;

/** Load the notification channels that the user may see. */
export const useChannels = () => useQuery({ queryKey: CHANNELS, queryFn: () => fetchAll("/channels", {}) });
