/** Triggers with their alerts, channels with their messages, and kill switches. */
import type * as T from "../../src/client/models.ts";
import type { KillSwitch } from "../../src/features/kill-switch/api.ts";
import type { GrafanaAnnotation, Notification } from "../../src/features/notifications/api.ts";
import type { Alert, Trigger, UnattendedTier } from "../../src/features/triggers/api.ts";
import { makeId } from "../server/pseudoRandom.ts";
import { addRoute, respond, respondList, respondProblem } from "../server/routes.ts";

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
const HOST = { id: makeId("host", 7), name: "feed-7" };
const PEERS = [
  { id: makeId("host", 8), name: "feed-8" },
  { id: makeId("host", 9), name: "feed-9" },
];

/** State that tests and the development server change. */
export const mockAlerting = {
  switches: [] as KillSwitch[],
  triggers: [
    {
      id: makeId("trigger", 0),
      name: "alertmanager of dc1",
      kind: "alertmanager",
      proof: "token",
      path: `/api/v1/triggers/${makeId("trigger", 0)}/alerts`,
      options: OPTIONS,
      channels: [{ id: makeId("channel", 0), name: "on-call chat" }],
      enabled: true,
      owner: { id: makeId("user", 1), name: "lena" },
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
      id: makeId("alert", 1),
      number: 12,
      trigger: { id: makeId("trigger", 0), name: "alertmanager of dc1" },
      cause: "HighLatency",
      title: "p99 of feed is 2.3 s",
      summary: "",
      labels: { alertname: "HighLatency", instance: "feed-7:9100" },
      state: "started",
      reason: null,
      count: 1000,
      host: HOST,
      service: "feed",
      incident_id: makeId("incident", 0),
      incident_number: 42,
      diagnosis_id: makeId("diagnosis", 0),
      peers: PEERS,
      created_at: AT,
      last_at: AT,
      resolved_at: null,
    },
    {
      id: makeId("alert", 0),
      number: 11,
      trigger: { id: makeId("trigger", 0), name: "alertmanager of dc1" },
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
      id: makeId("channel", 0),
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
      id: makeId("channel", 1),
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
    id: makeId("grafana-annotation", at),
    channel_id: makeId("channel", 1),
    channel: "graphs",
    about,
    about_id: makeId("incident", 0),
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
      id: makeId("notification", 0),
      number: 3,
      channel_id: makeId("channel", 0),
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

addRoute("GET", "/kill-switches", () => respond(mockAlerting.switches));
addRoute("POST", "/kill-switches", ({ body }) => {
  const newSwitch = {
    host: null,
    label: null,
    ...body,
    id: makeId("switch", Math.random()),
    activated_by: { id: makeId("user", 0), name: "admin" },
    created_at: AT,
    deactivated_at: null,
    canceled: 2,
  } as unknown as KillSwitch;
  mockAlerting.switches.push(newSwitch);
  return respond(newSwitch, 201);
});
addRoute("DELETE", "/kill-switches/:id", (_, switchId) => {
  const target = mockAlerting.switches.find((killSwitch) => killSwitch.id === switchId);
  mockAlerting.switches = mockAlerting.switches.filter((killSwitch) => killSwitch !== target);
  return target
    ? respond({ ...target, deactivated_at: AT })
    : respondProblem(404, "kill_switch.not_found", "");
});
addRoute("GET", "/triggers", () => respondList(mockAlerting.triggers));
addRoute("POST", "/triggers", ({ body }) => {
  const { secret: _, channel_ids: __, ...fields } = body;
  const triggerId = makeId("trigger", Math.random());
  const newTrigger = {
    ...mockAlerting.triggers[0],
    ...fields,
    id: triggerId,
    path: `/api/v1/triggers/${triggerId}/alerts`,
    options: { ...OPTIONS, ...(body.options as object) },
    channels: [],
    alerts: {},
    rejection_reason: null,
    last_alert_at: null,
  } as Trigger;
  mockAlerting.triggers.push(newTrigger);
  return respond({ ...newTrigger, secret: "culprit_trigger_once" }, 201);
});
addRoute("PATCH", "/triggers/:id", ({ body }, triggerId) => {
  const match = mockAlerting.triggers.find((trigger) => trigger.id === triggerId);
  return match
    ? respond({ ...match, ...body, secret: body.new_secret ? "culprit_trigger_renewed" : null })
    : respondProblem(404, "trigger.not_found", "");
});
addRoute("DELETE", "/triggers/:id", (_, triggerId) => {
  mockAlerting.triggers = mockAlerting.triggers.filter((trigger) => trigger.id !== triggerId);
  return { status: 204 };
});
addRoute("POST", "/triggers/:id/test", ({ body }) => {
  const labels = body.labels as Record<string, string>;
  const known = labels.instance?.startsWith("feed-7");
  return respond({
    state: known ? "started" : "unmatched",
    reason: known ? null : { key: "alert.no_place", params: {} },
    host: known ? HOST : null,
    service: known ? "feed" : "",
    peers: known ? PEERS : [],
    tiers: known ? ["light"] : [],
  });
});
addRoute("GET", "/alerts", ({ query }) =>
  respondList(
    mockAlerting.alerts.filter((alert) => !query.get("state") || alert.state === query.get("state")),
  ),
);
addRoute("GET", "/unattended-tiers", () => respond(mockAlerting.unattendedTiers));
addRoute("POST", "/unattended-tiers", ({ body }) => {
  const newTier = {
    id: makeId("unattended-tier", Math.random()),
    label: body.label,
    tier: "standard",
    created_by: null,
    created_at: AT,
  } as UnattendedTier;
  mockAlerting.unattendedTiers.push(newTier);
  return respond(newTier, 201);
});
addRoute("DELETE", "/unattended-tiers/:id", (_, tierId) => {
  mockAlerting.unattendedTiers = mockAlerting.unattendedTiers.filter((tier) => tier.id !== tierId);
  return { status: 204 };
});
addRoute("GET", "/channels", () => respondList(mockAlerting.channels));
addRoute("POST", "/channels", ({ body }) => {
  const newChannel = {
    ...mockAlerting.channels[0],
    name: body.name,
    kind: body.kind,
    id: makeId("channel", Math.random()),
    user_id: null,
    destination: { server: "https://hooks.example:443" },
    failed: 0,
    last_state: null,
    last_at: null,
  } as T.Channel;
  mockAlerting.channels.push(newChannel);
  return respond({ ...newChannel, secret: body.kind === "webhook" ? "culprit_hook_once" : null }, 201);
});
addRoute("PATCH", "/channels/:id", ({ body }, channelId) =>
  respond({ ...mockAlerting.channels.find((channel) => channel.id === channelId), ...body }),
);
addRoute("DELETE", "/channels/:id", (_, channelId) => {
  mockAlerting.channels = mockAlerting.channels.filter((channel) => channel.id !== channelId);
  return { status: 204 };
});
addRoute("POST", "/channels/:id/test", () =>
  respond({ ...mockAlerting.notifications[0], about: "test", state: "queued" }, 201),
);
addRoute("POST", "/channels/:id/retry", (_, channelId) => {
  const match = mockAlerting.channels.find((channel) => channel.id === channelId);
  if (match) Object.assign(match, { queued: match.failed, failed: 0 });
  mockAlerting.annotations = mockAlerting.annotations.filter(
    (grafanaAnnotation) => grafanaAnnotation.channel_id !== channelId,
  );
  return respond(match);
});
addRoute("GET", "/grafana-annotations", () => respondList(mockAlerting.annotations));
addRoute("POST", "/grafana-annotations/:id/retry", (_, annotationId) => {
  const match = mockAlerting.annotations.find((grafanaAnnotation) => grafanaAnnotation.id === annotationId);
  mockAlerting.annotations = mockAlerting.annotations.filter(
    (grafanaAnnotation) => grafanaAnnotation !== match,
  );
  return respond({ ...match, state: "queued", failure: null, attempts: 0 });
});
addRoute("GET", "/notifications", () => respondList(mockAlerting.notifications));
addRoute("POST", "/notifications/:id/retry", (_, notificationId) => {
  const match = mockAlerting.notifications.find((notification) => notification.id === notificationId);
  if (match) Object.assign(match, { state: "queued", failure: null, attempts: 0 });
  return respond(match);
});
