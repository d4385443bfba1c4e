/** Watchers: a look-back buffer, a conditional capture with its last readings, and one whose host is unreachable. */
import type * as T from "../../src/client/models.ts";
import { HOSTS } from "../dataset.ts";
import { hashToUnit, makeId } from "../server/pseudoRandom.ts";
import { addRoute, respond, respondList, respondProblem } from "../server/routes.ts";

const now = Date.now();
const later = (hours: number) => new Date(now + hours * 3600e3).toISOString();
const hostAt = (n: number) => ({
  id: HOSTS[n]?.id ?? makeId("host", n),
  name: HOSTS[n]?.name ?? `host-${n}`,
});
const LENA = { id: makeId("user", 1), name: "lena" };
const NONE = {
  reason: "",
  conditions: [],
  capture: null,
  incident: null,
  capture_count: 0,
  max_captures: 0,
  cooldown_s: 0,
  last_capture_at: null,
  captures: [],
  rejection: null,
  ended_at: null,
  interruption_count: 0,
  wait_reason: null,
  failure: null,
  cost: null,
  readings: null,
  buffered_s: null,
  stacks: false,
  requested_by: LENA,
} satisfies Partial<T.Watcher>;

export const mockWatchers = {
  rows: [
    {
      ...NONE,
      id: makeId("watcher", 2),
      number: 3,
      kind: "conditional",
      host: hostAt(0),
      state: "watching",
      reason: "starts slowly after each deployment",
      lookback_s: 180,
      buffered_s: 180,
      conditions: [
        {
          kind: "unit_start",
          key: "feed.service",
          op: "over",
          limit: 1,
          required_hits: 1,
          window_readings: 1,
          unit: "",
          is_start: true,
        },
        {
          kind: "stall_pct",
          key: "cpu.some",
          op: "over",
          limit: 40,
          required_hits: 3,
          window_readings: 5,
          unit: "pct",
          is_start: false,
        },
      ],
      capture: { plan: "triage", seconds: 30, tier: "light", scope: { kind: "host", value: "" } },
      capture_count: 1,
      max_captures: 3,
      cooldown_s: 600,
      last_capture_at: later(-0.5),
      captures: [{ id: makeId("capture", 474), number: 474, state: "done", created_at: later(-0.5) }],
      rejection: { at: later(-0.4), reason: { key: "watcher.cooldown", params: { seconds: 600 } } },
      expires_at: later(2.6),
      created_at: later(-1.4),
      started_at: later(-1.4),
      cost: { cpu_pct: 0.42, cpu_ms: 21_300, rss_kb: 7_900, lookback_bytes: 2_900_000 },
      readings: {
        at: later(0),
        step_s: 5,
        values: [
          Array.from({ length: 60 }, () => 0),
          Array.from({ length: 60 }, (_, n) =>
            n === 20 ? null : 8 + 24 * hashToUnit("psi", n) + (n > 48 ? 22 : 0),
          ),
        ],
      },
    },
    {
      ...NONE,
      id: makeId("watcher", 1),
      number: 2,
      kind: "lookback",
      host: hostAt(0),
      state: "watching",
      lookback_s: 600,
      buffered_s: 600,
      expires_at: later(6.2),
      created_at: later(-1.8),
      started_at: later(-1.8),
      cost: { cpu_pct: 0.55, cpu_ms: 35_800, rss_kb: 8_200, lookback_bytes: 9_800_000 },
    },
    {
      ...NONE,
      id: makeId("watcher", 0),
      number: 1,
      kind: "lookback",
      host: hostAt(1),
      state: "waiting",
      lookback_s: 600,
      expires_at: later(1),
      created_at: later(-7),
      started_at: null,
      interruption_count: 2,
      wait_reason: { key: "watcher.worker_lost", params: {} },
    },
  ] as T.Watcher[],
};

const kind = (
  name: T.ConditionKind["kind"],
  en: string,
  zh: string,
  key = "",
  example = "",
  unit = "",
): T.ConditionKind => ({
  kind: name,
  title: { en, zh },
  unit,
  key,
  example,
  is_start: name.endsWith("_start"),
});
const KINDS = [
  kind("unit_start", "A unit starts", "某单元启动", "[A-Za-z0-9_@:.-]{1,255}", "feed.service"),
  kind("process_start", "A process starts", "某进程启动", "[A-Za-z0-9_.:@+-]{1,15}", "java"),
  kind(
    "stall_pct",
    "Work waits for a resource (PSI)",
    "任务等待资源（PSI）",
    "(cpu|memory|io)\\.(some|full)",
    "cpu.some",
    "pct",
  ),
  kind("load1", "Load average of one minute", "1 分钟平均负载"),
];

addRoute("GET", "/watchers", ({ query }) =>
  respondList(
    mockWatchers.rows.filter(
      (watcher) =>
        (!query.get("host_id") || watcher.host.id === query.get("host_id")) &&
        (query.get("include_ended") === "true" || watcher.ended_at === null),
    ),
  ),
);
addRoute("GET", "/watchers/conditions", () => respond(KINDS));
addRoute("POST", "/watchers", ({ body }) => {
  const targetHost = HOSTS.find((host) => host.id === body.host_id);
  if (!targetHost) return respondProblem(404, "host.not_found", "");
  if (
    mockWatchers.rows.some(
      (watcher) => watcher.host.id === targetHost.id && watcher.kind === body.kind && !watcher.ended_at,
    )
  )
    return respondProblem(409, `watcher.${body.kind}_exists`, "", { host: targetHost.name });
  const newWatcher = {
    ...NONE,
    id: makeId("watcher", 100 + mockWatchers.rows.length),
    number: mockWatchers.rows.length + 1,
    kind: body.kind,
    host: { id: targetHost.id, name: targetHost.name },
    state: "waiting",
    lookback_s: Number(body.seconds ?? 180),
    stacks: body.stacks === true,
    conditions: ((body.conditions ?? []) as T.Condition[]).map((condition) => ({
      ...{ op: "over", limit: 1, required_hits: 1, window_readings: 1 },
      ...condition,
      unit: KINDS.find((each) => each.kind === condition.kind)?.unit ?? "",
      is_start: condition.kind.endsWith("_start"),
    })),
    capture:
      body.kind === "conditional"
        ? { plan: body.plan, seconds: null, tier: "light", scope: { kind: "host", value: "" } }
        : null,
    incident: body.incident_id ? { id: body.incident_id, number: 42 } : null,
    max_captures: Number(body.max_captures ?? 0),
    expires_at: later(Number(body.hours)),
    created_at: later(0),
    started_at: null,
  } as T.Watcher;
  mockWatchers.rows.unshift(newWatcher);
  return respond(newWatcher, 201);
});
addRoute("POST", "/watchers/:id/stop", (_, watcherId) => {
  const match = mockWatchers.rows.find((watcher) => watcher.id === watcherId);
  if (!match) return respondProblem(404, "watcher.not_found", "");
  Object.assign(match, { state: "canceled", ended_at: later(0), wait_reason: null });
  return respond(match);
});
