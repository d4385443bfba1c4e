/** Triggers with their alerts, channels with their messages, and kill switches. */
import type * as T from "../src/client/triggers.ts";
import { id } from "./noise.ts";
import { list, ok, problem, route } from "./routes.ts";

const AT = "2026-11-21T02:14:00Z";
const OPTIONS: T.TriggerOptions = {
  seconds: 8,
  peers: 2,
  cooldown_s: 1800,
  window_s: 300,
  severity: 2,
  host_labels: [],
  service_labels: [],
  only: {},
};
const HOST = { id: id("host", 7), name: "feed-7" };
const PEERS = [
  { id: id("host", 8), name: "feed-8" },
  { id: id("host", 9), name: "feed-9" },
];

/** What tests and the demonstration may change. */
export const alerting = {
  switches: [] as T.KillSwitch[],
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
      heard_at: AT,
      heard: 61,
      repeated: 2,
      refused_at: AT,
      refused_for: { key: "trigger.wrong_token", params: {} },
      alerts: { fired: 1, joined: 999, unmatched: 3 },
    },
  ] as T.Trigger[],
  alerts: [
    {
      id: id("alert", 1),
      number: 12,
      trigger: { id: id("trigger", 0), name: "alertmanager of dc1" },
      cause: "HighLatency",
      title: "p99 of feed is 2.3 s",
      summary: "",
      labels: { alertname: "HighLatency", instance: "feed-7:9100" },
      state: "fired",
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
    },
  ] as T.Alert[],
  allowances: [] as T.TierAllowance[],
  channels: [
    {
      id: id("channel", 0),
      name: "on-call chat",
      kind: "slack",
      locale: "en",
      enabled: true,
      user_id: null,
      shown: { server: "https://chat.example:443" },
      queued: 0,
      dead: 1,
      last_state: "dead",
      last_at: AT,
    },
    {
      id: id("channel", 1),
      name: "graphs",
      kind: "grafana",
      locale: "en",
      enabled: true,
      user_id: null,
      shown: { server: "https://grafana.example:443" },
      queued: 0,
      dead: 2,
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
    removed: about === "cause",
    state: "dead",
    tries: 8,
    not_before: AT,
    failure: { key: "outgoing.status", params: { host: "grafana.example", status: 502 } },
    created_at: AT,
    sent_at: null,
  })) as T.GrafanaAnnotation[],
  notices: [
    {
      id: id("notice", 0),
      number: 3,
      channel_id: id("channel", 0),
      channel: "on-call chat",
      about: "firing",
      message: { headline: "feed · feed-7: Too many threads", lines: ["• Delay: 44.1 ms > 3 ms"], paths: {} },
      state: "dead",
      tries: 8,
      not_before: AT,
      failure: { key: "outgoing.status", params: { host: "chat.example", status: 503 } },
      created_at: AT,
      sent_at: null,
    },
  ] as T.Notice[],
};

route("GET", "/kill-switches", () => ok(alerting.switches));
route("POST", "/kill-switches", ({ body }) => {
  const made = {
    host: null,
    label: null,
    ...body,
    id: id("switch", Math.random()),
    pulled_by: { id: id("user", 0), name: "admin" },
    created_at: AT,
    lifted_at: null,
    cancelled: 2,
  } as unknown as T.KillSwitch;
  alerting.switches.push(made);
  return ok(made, 201);
});
route("POST", "/kill-switches/:id/lift", (_, switchId) => {
  const found = alerting.switches.find((one) => one.id === switchId);
  alerting.switches = alerting.switches.filter((one) => one !== found);
  return found ? ok({ ...found, lifted_at: AT }) : problem(404, "kill_switch.not_found", "");
});
route("GET", "/triggers", () => list(alerting.triggers));
route("POST", "/triggers", ({ body }) => {
  const { secret: _, channel_ids: __, ...given } = body;
  const triggerId = id("trigger", Math.random());
  const made = {
    ...alerting.triggers[0],
    ...given,
    id: triggerId,
    path: `/api/v1/triggers/${triggerId}/alerts`,
    options: { ...OPTIONS, ...(body.options as object) },
    channels: [],
    alerts: {},
    refused_for: null,
    heard_at: null,
  } as T.Trigger;
  alerting.triggers.push(made);
  return ok({ ...made, secret: "culprit_trigger_once" }, 201);
});
route("PATCH", "/triggers/:id", ({ body }, triggerId) => {
  const found = alerting.triggers.find((one) => one.id === triggerId);
  return found
    ? ok({ ...found, ...body, secret: body.new_secret ? "culprit_trigger_renewed" : null })
    : problem(404, "trigger.not_found", "");
});
route("DELETE", "/triggers/:id", (_, triggerId) => {
  alerting.triggers = alerting.triggers.filter((one) => one.id !== triggerId);
  return { status: 204 };
});
route("POST", "/triggers/:id/test", ({ body }) => {
  const labels = body.labels as Record<string, string>;
  const known = labels.instance?.startsWith("feed-7");
  return ok({
    state: known ? "fired" : "unmatched",
    reason: known ? null : { key: "alert.no_place", params: {} },
    host: known ? HOST : null,
    service: known ? "feed" : "",
    peers: known ? PEERS : [],
    tiers: known ? ["light"] : [],
  });
});
route("GET", "/alerts", ({ query }) =>
  list(alerting.alerts.filter((one) => !query.get("state") || one.state === query.get("state"))),
);
route("GET", "/tier-allowances", () => ok(alerting.allowances));
route("POST", "/tier-allowances", ({ body }) => {
  const made = {
    id: id("allowance", Math.random()),
    label: body.label,
    tier: "standard",
    by: null,
    created_at: AT,
  } as T.TierAllowance;
  alerting.allowances.push(made);
  return ok(made, 201);
});
route("DELETE", "/tier-allowances/:id", (_, allowanceId) => {
  alerting.allowances = alerting.allowances.filter((one) => one.id !== allowanceId);
  return { status: 204 };
});
route("GET", "/channels", () => list(alerting.channels));
route("POST", "/channels", ({ body }) => {
  const made = {
    ...alerting.channels[0],
    name: body.name,
    kind: body.kind,
    id: id("channel", Math.random()),
    user_id: null,
    shown: { server: "https://hooks.example:443" },
    dead: 0,
    last_state: null,
    last_at: null,
  } as T.Channel;
  alerting.channels.push(made);
  return ok({ ...made, secret: body.kind === "webhook" ? "culprit_hook_once" : null }, 201);
});
route("PATCH", "/channels/:id", ({ body }, channelId) =>
  ok({ ...alerting.channels.find((one) => one.id === channelId), ...body }),
);
route("DELETE", "/channels/:id", (_, channelId) => {
  alerting.channels = alerting.channels.filter((one) => one.id !== channelId);
  return { status: 204 };
});
route("POST", "/channels/:id/test", () =>
  ok({ ...alerting.notices[0], about: "test", state: "queued" }, 201),
);
route("POST", "/channels/:id/again", (_, channelId) => {
  const found = alerting.channels.find((one) => one.id === channelId);
  if (found) Object.assign(found, { queued: found.dead, dead: 0 });
  alerting.annotations = alerting.annotations.filter((one) => one.channel_id !== channelId);
  return ok(found);
});
route("GET", "/grafana-annotations", () => list(alerting.annotations));
route("POST", "/grafana-annotations/:id/again", (_, annotationId) => {
  const found = alerting.annotations.find((one) => one.id === annotationId);
  alerting.annotations = alerting.annotations.filter((one) => one !== found);
  return ok({ ...found, state: "queued", failure: null, tries: 0 });
});
route("GET", "/notices", () => list(alerting.notices));
route("POST", "/notices/:id/again", (_, noticeId) => {
  const found = alerting.notices.find((one) => one.id === noticeId);
  if (found) Object.assign(found, { state: "queued", failure: null, tries: 0 });
  return ok(found);
});
