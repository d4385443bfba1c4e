/** What waits on hosts: a ring, an armed capture with its last readings, and one whose host cannot be reached. */
import type * as T from "../src/client/standbys.ts";
import { hash, id } from "./noise.ts";
import { list, ok, problem, route } from "./routes.ts";
import { HOSTS } from "./world.ts";

const now = Date.now();
const later = (hours: number) => new Date(now + hours * 3600e3).toISOString();
const hostAt = (n: number) => ({ id: HOSTS[n]?.id ?? id("host", n), name: HOSTS[n]?.name ?? `host-${n}` });
const LENA = { id: id("user", 1), name: "lena" };
const NONE = {
  reason: "",
  conditions: [],
  wanted: null,
  incident: null,
  fires: 0,
  fires_max: 0,
  cooldown_s: 0,
  fired_at: null,
  captures: [],
  refused: null,
  ended_at: null,
  interrupted: 0,
  waiting: null,
  failure: null,
  cost: null,
  readings: null,
  kept_s: null,
  stacks: false,
  by: LENA,
} satisfies Partial<T.Standby>;

export const standing = {
  rows: [
    {
      ...NONE,
      id: id("standby", 2),
      number: 3,
      kind: "armed",
      host: hostAt(0),
      state: "watching",
      reason: "starts slowly after each deployment",
      ring_s: 180,
      kept_s: 180,
      conditions: [
        {
          kind: "unit_start",
          key: "feed.service",
          op: "over",
          limit: 1,
          hits: 1,
          of: 1,
          unit: "",
          starts: true,
        },
        {
          kind: "stall_pct",
          key: "cpu.some",
          op: "over",
          limit: 40,
          hits: 3,
          of: 5,
          unit: "pct",
          starts: false,
        },
      ],
      wanted: { plan: "triage", seconds: 30, tier: "light", scope: { kind: "host", value: "" } },
      fires: 1,
      fires_max: 3,
      cooldown_s: 600,
      fired_at: later(-0.5),
      captures: [{ id: id("capture", 474), number: 474, state: "done", at: later(-0.5) }],
      refused: { at: later(-0.4), sentence: { key: "standby.cooling", params: { seconds: 600 } } },
      until: later(2.6),
      created_at: later(-1.4),
      started_at: later(-1.4),
      cost: { cpu_pct: 0.42, cpu_ms: 21_300, rss_kb: 7_900, ring_bytes: 2_900_000 },
      readings: {
        at: later(0),
        step_s: 5,
        values: [
          Array.from({ length: 60 }, () => 0),
          Array.from({ length: 60 }, (_, n) =>
            n === 20 ? null : 8 + 24 * hash("psi", n) + (n > 48 ? 22 : 0),
          ),
        ],
      },
    },
    {
      ...NONE,
      id: id("standby", 1),
      number: 2,
      kind: "ring",
      host: hostAt(0),
      state: "watching",
      ring_s: 600,
      kept_s: 600,
      until: later(6.2),
      created_at: later(-1.8),
      started_at: later(-1.8),
      cost: { cpu_pct: 0.55, cpu_ms: 35_800, rss_kb: 8_200, ring_bytes: 9_800_000 },
    },
    {
      ...NONE,
      id: id("standby", 0),
      number: 1,
      kind: "ring",
      host: hostAt(1),
      state: "waiting",
      ring_s: 600,
      until: later(1),
      created_at: later(-7),
      started_at: null,
      interrupted: 2,
      waiting: { key: "standby.worker_lost", params: {} },
    },
  ] as T.Standby[],
};

const kind = (name: string, en: string, zh: string, key = "", example = "", unit = ""): T.ConditionKind => ({
  kind: name,
  title: { en, zh },
  unit,
  key,
  example,
  starts: name.endsWith("_start"),
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

route("GET", "/standbys", ({ query }) =>
  list(
    standing.rows.filter(
      (one) =>
        (!query.get("host") || one.host.id === query.get("host")) &&
        (query.get("over") === "true" || one.ended_at === null),
    ),
  ),
);
route("GET", "/standbys/conditions", () => ok(KINDS));
route("POST", "/standbys", ({ body }) => {
  const found = HOSTS.find((one) => one.id === body.host_id);
  if (!found) return problem(404, "host.not_found", "");
  if (standing.rows.some((one) => one.host.id === found.id && one.kind === body.kind && !one.ended_at))
    return problem(409, `standby.${body.kind}_there`, "", { host: found.name });
  const made = {
    ...NONE,
    id: id("standby", 100 + standing.rows.length),
    number: standing.rows.length + 1,
    kind: body.kind,
    host: { id: found.id, name: found.name },
    state: "waiting",
    ring_s: Number(body.seconds ?? 180),
    stacks: body.stacks === true,
    conditions: ((body.conditions ?? []) as T.Condition[]).map((one) => ({
      ...{ op: "over", limit: 1, hits: 1, of: 1 },
      ...one,
      unit: KINDS.find((each) => each.kind === one.kind)?.unit ?? "",
      starts: one.kind.endsWith("_start"),
    })),
    wanted:
      body.kind === "armed"
        ? { plan: body.plan, seconds: null, tier: "light", scope: { kind: "host", value: "" } }
        : null,
    incident: body.incident_id ? { id: body.incident_id, number: 42 } : null,
    fires_max: Number(body.fires_max ?? 0),
    until: later(Number(body.hours)),
    created_at: later(0),
    started_at: null,
  } as T.Standby;
  standing.rows.unshift(made);
  return ok(made, 201);
});
route("POST", "/standbys/:id/end", (_, standbyId) => {
  const found = standing.rows.find((one) => one.id === standbyId);
  if (!found) return problem(404, "standby.not_found", "");
  Object.assign(found, { state: "cancelled", ended_at: later(0), waiting: null });
  return ok(found);
});
