/** Triggers with their alerts, channels with their messages, and kill switches. */
import type * as T from "../../src/client/models.ts";
import type { KillSwitch } from "../../src/features/kill-switch/api.ts";
import type { GrafanaAnnotation, Notification } from "../../src/features/notifications/api.ts";
import type { Alert, Trigger, UnattendedTier } from "../../src/features/triggers/api.ts";
import { id } from "../server/noise.ts";
import { list, ok, problem, route } from "../server/routes.ts";

const AT = "2026-11-21T02:14:00Z";
const OPTIONS: Trigger["options"] = {
  seconds: 8,
  peers: 2,
  cooldown_s: 1800,
  window_s: 300,
  severity: 2,
  host_labels: [],
  service_labels: [],
  label_filter: {},
};
const HOST = { id: id("host", 7), name: "feed-7" };
const PEERS = [
  { id: id("host", 8), name: "feed-8" },
  { id: id("host", 9), name: "feed-9" },
];

/** What tests and the demonstration may change. */
export const alerting = {
  switches: [] as KillSwitch[],
  triggers: [
    {
      id: id("trigger", 0),
      name: "alertmanager of dc1",
      kind: "alertmanager",
      proof: "token",
      path: `/api/v1/triggers/${id("trigger", 0)}/alerts`,
      options: OPTIONS,
      channels: [{ id: id("channel", 0), name: "on-call chat" }],
      enabled: true,
      owner: { id: id("user", 1), name: "lena" },
      created_at: AT,
      last_alert_at: AT,
      alert_count: 61,
      duplicate_count: 2,
      rejected_at: AT,
      rejection_reason: { key: "trigger.wrong_token", params: {} },
      alerts: { started: 1, joined: 999, unmatched: 3 },
    },
  ] as Trigger[],
  alerts: [
    {
      id: id("alert", 1),
      number: 12,
      trigger: { id: id("trigger", 0), name: "alertmanager of dc1" },
      cause: "HighLatency",
      title: "p99 of feed is 2.3 s",
      summary: "",
      labels: { alertname: "HighLatency", instance: "feed-7:9100" },
      state: "started",
      reason: null,
      count: 1000,
      host: HOST,
      service: "feed",
      incident_id: id("incident", 0),
      incident_number: 42,
      diagnosis_id: id("diagnosis", 0),
      peers: PEERS,
      created_at: AT,
      last_at: AT,
      resolved_at: null,
    },
    {
      id: id("alert", 0),
      number: 11,
      trigger: { id: id("trigger", 0), name: "alertmanager of dc1" },
      cause: "DiskFull",
      title: "DiskFull",
      summary: "",
      labels: { alertname: "DiskFull", instance: "old-box:9100" },
      state: "unmatched",
      reason: { key: "alert.host_unknown", params: { names: "old-box" } },
      count: 3,
      host: null,
      service: "",
      incident_id: null,
      incident_number: null,
      diagnosis_id: null,
      peers: [],
      created_at: AT,
      last_at: AT,
      resolved_at: null,
      began_at: null,
      fingerprint: "",
    },
  ] as Alert[],
  unattendedTiers: [] as UnattendedTier[],
  channels: [
    {
      id: id("channel", 0),
      name: "on-call chat",
      kind: "slack",
      locale: "en",
      enabled: true,
      user_id: null,
      destination: { server: "https://chat.example:443" },
      queued: 0,
      failed: 1,
      last_state: "failed",
      last_at: AT,
    },
    {
      id: id("channel", 1),
      name: "graphs",
      kind: "grafana",
      locale: "en",
      enabled: true,
      user_id: null,
      destination: { server: "https://grafana.example:443" },
      queued: 0,
      failed: 2,
      last_state: null,
      last_at: null,
    },
  ] as T.Channel[],
  annotations: (["incident", "cause"] as const).map((about, at) => ({
    id: id("grafana-annotation", at),
    channel_id: id("channel", 1),
    channel: "graphs",
    about,
    about_id: id("incident", 0),
    text: about === "incident" ? "#42 p99 of feed is 2.3 s" : "Too many threads for its CPUs",
    is_deleted: about === "cause",
    state: "failed",
    attempts: 8,
    not_before: AT,
    failure: { key: "outgoing.status", params: { host: "grafana.example", status: 502 } },
    created_at: AT,
    sent_at: null,
  })) as GrafanaAnnotation[],
  notifications: [
    {
      id: id("notification", 0),
      number: 3,
      channel_id: id("channel", 0),
      channel: "on-call chat",
      about: "diagnosis",
      message: { headline: "feed · feed-7: Too many threads", lines: ["• Delay: 44.1 ms > 3 ms"], paths: {} },
      state: "failed",
      attempts: 8,
      not_before: AT,
      failure: { key: "outgoing.status", params: { host: "chat.example", status: 503 } },
      created_at: AT,
      sent_at: null,
    },
  ] as Notification[],
};

route("GET", "/kill-switches", () => ok(alerting.switches));
route("POST", "/kill-switches", ({ body }) => {
  const newSwitch = {
    host: null,
    label: null,
    ...body,
    id: id("switch", Math.random()),
    activated_by: { id: id("user", 0), name: "admin" },
    created_at: AT,
    deactivated_at: null,
    canceled: 2,
  } as unknown as KillSwitch;
  alerting.switches.push(newSwitch);
  return ok(newSwitch, 201);
});
route("DELETE", "/kill-switches/:id", (_, switchId) => {
  const target = alerting.switches.find((killSwitch) => killSwitch.id === switchId);
  alerting.switches = alerting.switches.filter((killSwitch) => killSwitch !== target);
  return target ? ok({ ...target, deactivated_at: AT }) : problem(404, "kill_switch.not_found", "");
});
route("GET", "/triggers", () => list(alerting.triggers));
route("POST", "/triggers", ({ body }) => {
  const { secret: _, channel_ids: __, ...fields } = body;
  const triggerId = id("trigger", Math.random());
  const newTrigger = {
    ...alerting.triggers[0],
    ...fields,
    id: triggerId,
    path: `/api/v1/triggers/${triggerId}/alerts`,
    options: { ...OPTIONS, ...(body.options as object) },
    channels: [],
    alerts: {},
    rejection_reason: null,
    last_alert_at: null,
  } as Trigger;
  alerting.triggers.push(newTrigger);
  return ok({ ...newTrigger, secret: "culprit_trigger_once" }, 201);
});
route("PATCH", "/triggers/:id", ({ body }, triggerId) => {
  const match = alerting.triggers.find((trigger) => trigger.id === triggerId);
  return match
    ? ok({ ...match, ...body, secret: body.new_secret ? "culprit_trigger_renewed" : null })
    : problem(404, "trigger.not_found", "");
});
route("DELETE", "/triggers/:id", (_, triggerId) => {
  alerting.triggers = alerting.triggers.filter((trigger) => trigger.id !== triggerId);
  return { status: 204 };
});
route("POST", "/triggers/:id/test", ({ body }) => {
  const labels = body.labels as Record<string, string>;
  const known = labels.instance?.startsWith("feed-7");
  return ok({
    state: known ? "started" : "unmatched",
    reason: known ? null : { key: "alert.no_place", params: {} },
    host: known ? HOST : null,
    service: known ? "feed" : "",
    peers: known ? PEERS : [],
    tiers: known ? ["light"] : [],
  });
});
route("GET", "/alerts", ({ query }) =>
  list(alerting.alerts.filter((alert) => !query.get("state") || alert.state === query.get("state"))),
);
route("GET", "/unattended-tiers", () => ok(alerting.unattendedTiers));
route("POST", "/unattended-tiers", ({ body }) => {
  const newTier = {
    id: id("unattended-tier", Math.random()),
    label: body.label,
    tier: "standard",
    created_by: null,
    created_at: AT,
  } as UnattendedTier;
  alerting.unattendedTiers.push(newTier);
  return ok(newTier, 201);
});
route("DELETE", "/unattended-tiers/:id", (_, tierId) => {
  alerting.unattendedTiers = alerting.unattendedTiers.filter((tier) => tier.id !== tierId);
  return { status: 204 };
});
route("GET", "/channels", () => list(alerting.channels));
route("POST", "/channels", ({ body }) => {
  const newChannel = {
    ...alerting.channels[0],
    name: body.name,
    kind: body.kind,
    id: id("channel", Math.random()),
    user_id: null,
    destination: { server: "https://hooks.example:443" },
    failed: 0,
    last_state: null,
    last_at: null,
  } as T.Channel;
  alerting.channels.push(newChannel);
  return ok({ ...newChannel, secret: body.kind === "webhook" ? "culprit_hook_once" : null }, 201);
});
route("PATCH", "/channels/:id", ({ body }, channelId) =>
  ok({ ...alerting.channels.find((channel) => channel.id === channelId), ...body }),
);
route("DELETE", "/channels/:id", (_, channelId) => {
  alerting.channels = alerting.channels.filter((channel) => channel.id !== channelId);
  return { status: 204 };
});
route("POST", "/channels/:id/test", () =>
  ok({ ...alerting.notifications[0], about: "test", state: "queued" }, 201),
);
route("POST", "/channels/:id/retry", (_, channelId) => {
  const match = alerting.channels.find((channel) => channel.id === channelId);
  if (match) Object.assign(match, { queued: match.failed, failed: 0 });
  alerting.annotations = alerting.annotations.filter(
    (grafanaAnnotation) => grafanaAnnotation.channel_id !== channelId,
  );
  return ok(match);
});
route("GET", "/grafana-annotations", () => list(alerting.annotations));
route("POST", "/grafana-annotations/:id/retry", (_, annotationId) => {
  const match = alerting.annotations.find((grafanaAnnotation) => grafanaAnnotation.id === annotationId);
  alerting.annotations = alerting.annotations.filter((grafanaAnnotation) => grafanaAnnotation !== match);
  return ok({ ...match, state: "queued", failure: null, attempts: 0 });
});
route("GET", "/notifications", () => list(alerting.notifications));
route("POST", "/notifications/:id/retry", (_, notificationId) => {
  const match = alerting.notifications.find((notification) => notification.id === notificationId);
  if (match) Object.assign(match, { state: "queued", failure: null, attempts: 0 });
  return ok(match);
});
