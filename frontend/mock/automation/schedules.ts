/** Schedules, maintenance, and who is on call. */
import type {
  Colleague,
  MaintenanceWindow,
  Oncall,
  Rotation,
  Schedule,
  Turn,
  Upcoming,
} from "../src/client/schedules.ts";
import { id } from "./noise.ts";
import { list, ok, problem, route } from "./routes.ts";
import { USERS } from "./state.ts";

const DAY_MS = 86_400_000;
const DAY_MIN = 1440;
const NIGHT = "30 3 * * *";
const at = (days: number): string =>
  new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS + days * DAY_MS + 3.5 * 3_600_000).toISOString();

export const upcoming = (count: number): Upcoming[] =>
  Array.from({ length: count }, (_, n) => ({
    at: at(n + 1),
    wall: at(n + 1).replace(".000Z", "+00:00"),
    wanted_wall: at(n + 1).slice(0, 16),
    kind: n === 3 ? "gap" : "plain",
    window: n === 1 ? { id: id("win", 0), reason: "new disks", ends_at: at(2.5) } : null,
  }));

const timesOf = (minutes: number): MaintenanceWindow["times"] =>
  upcoming(5).map(({ at: begin, kind }) => ({
    starts_at: begin,
    ends_at: new Date(Date.parse(begin) + minutes * 60_000).toISOString(),
    kind,
  }));

const NIGHTLY: Schedule = {
  id: id("sched", 0),
  name: "nightly baseline",
  cadence: { kind: "cron", cron: NIGHT, zone: "UTC" },
  wanted: { plan: "baseline", scope: { kind: "host", value: "" }, options: {} },
  tier: "light",
  hosts: [],
  labels: { role: "feed" },
  matching: 166,
  reason: "to compare with",
  catch_up: "one",
  grace_s: 300,
  deep_allowed: false,
  state: "active",
  next_due: at(1),
  upcoming: upcoming(10),
  recent: [
    {
      id: id("fire", 0),
      due_at: at(0),
      last_due_at: at(0),
      count: 1,
      state: "fired",
      reason: null,
      capture: { id: id("cap", 0), number: 41, state: "done" },
      at: at(0),
    },
    {
      id: id("fire", 1),
      due_at: at(-1),
      last_due_at: at(-1),
      count: 1,
      state: "skipped",
      reason: { key: "schedule.in_maintenance", params: { until: "06:00", reason: "new disks" } },
      capture: null,
      at: at(-1),
    },
    {
      id: id("fire", 2),
      due_at: at(-5),
      last_due_at: at(-2),
      count: 4,
      state: "missed",
      reason: { key: "schedule.missed", params: { count: 4 } },
      capture: null,
      at: at(-1.9),
    },
  ],
  counts: { fired: 12, missed: 4, skipped: 1 },
  owner: { id: USERS[0]!.id, name: USERS[0]!.name },
  refusal: null,
  version: 3,
  created_at: at(-20),
  updated_at: at(-6),
};

export const SCHEDULES: readonly Schedule[] = [
  NIGHTLY,
  {
    ...NIGHTLY,
    id: id("sched", 1),
    name: "scheduling on Fridays",
    cadence: { kind: "cron", cron: "0 10 * * 5", zone: "Asia/Shanghai" },
    wanted: { ...NIGHTLY.wanted, plan: "sched" },
    tier: "deep",
    recent: [],
    counts: {},
    refusal: { key: "schedule.deep_not_allowed", params: {} },
    version: 1,
  },
];

const turn = (who: number, from: number, to: number): Turn => ({
  start: at(from),
  end: at(to),
  who: USERS[who]!.name,
  person: { id: USERS[who]!.id, name: USERS[who]!.name, role: USERS[who]!.role, disabled: false },
  how: "rotation",
  level: 1,
});

const PRIMARY: Rotation = {
  id: id("rota", 0),
  name: "primary",
  kind: "simple",
  zone: "Europe/Berlin",
  handover: "09:00",
  first_day: "2026-11-02",
  days: 7,
  people: [turn(0, 0, 1).person!, turn(1, 0, 1).person!],
  source: {},
  has_secret: false,
  accounts: {},
  overrides: [],
  now: [turn(0, -3, 4)],
  next: turn(1, 4, 11),
  turns: [turn(0, -3, 4), turn(1, 4, 11), turn(0, 11, 18)],
  fetched_at: null,
  failure: null,
  version: 1,
};

const oncall = (one: Rotation): Oncall => ({
  rotation: { id: one.id, name: one.name },
  now: one.now,
  next: one.next,
  fetched_at: one.fetched_at,
  failure: one.failure,
});

/** What the screens may change; `resetSchedules` puts it back. */
export const planned = {
  schedules: [...SCHEDULES] as Schedule[],
  windows: [] as MaintenanceWindow[],
  rotations: [] as Rotation[],
};
export function resetSchedules(): void {
  planned.schedules = [...SCHEDULES];
  planned.windows = [];
  planned.rotations = [];
}
export const withRotation = (change: Partial<Rotation> = {}): void => {
  planned.rotations = [{ ...PRIMARY, ...change }];
};

const found = (scheduleId: string | undefined) => planned.schedules.find((one) => one.id === scheduleId);
const gone = () => problem(404, "schedule.not_found", "There is no such schedule.");

route("GET", "/schedules", () => list(planned.schedules));
route("POST", "/schedules/preview", ({ body }) => {
  const cadence = body.cadence as Schedule["cadence"];
  if (cadence.kind === "cron" && cadence.cron.split(/\s+/).length !== 5)
    return problem(422, "schedule.cron_unreadable", "", { what: "five fields" });
  return ok({ cron: NIGHT, zone: cadence.zone, upcoming: upcoming(Number(body.count ?? 10)) });
});
route("POST", "/schedules", ({ body }) => {
  const made = { ...NIGHTLY, ...body, id: id("sched", Math.random()), recent: [], counts: {} } as Schedule;
  planned.schedules.unshift(made);
  return ok(made, 201);
});
route("PATCH", "/schedules/:id", ({ body }, scheduleId) => {
  const one = found(scheduleId);
  if (!one) return gone();
  const state = body.paused === true ? "paused" : body.paused === false ? "active" : one.state;
  const changed = { ...one, ...body, state, version: one.version + 1 } as Schedule;
  planned.schedules = planned.schedules.map((each) => (each.id === one.id ? changed : each));
  return ok(changed);
});
route("DELETE", "/schedules/:id", (_, scheduleId) => {
  planned.schedules = planned.schedules.filter((one) => one.id !== scheduleId);
  return { status: 204 };
});
route("GET", "/maintenance", () => list(planned.windows));
route("POST", "/maintenance", ({ body }) => {
  const recurs = (body.recurs ?? null) as MaintenanceWindow["recurs"];
  if (recurs && recurs.minutes >= DAY_MIN)
    return problem(422, "maintenance.no_pause", "", { minutes: recurs.minutes, apart: DAY_MIN });
  const once = { starts_at: String(body.starts_at), ends_at: String(body.ends_at), kind: "plain" as const };
  const made = {
    host: null,
    labels: null,
    by: { id: USERS[0]!.id, name: USERS[0]!.name },
    state: recurs ? "to_come" : "now",
    ends_at: null,
    ...body,
    recurs,
    times: recurs ? timesOf(recurs.minutes) : [once],
    id: id("win", Math.random()),
  } as unknown as MaintenanceWindow;
  planned.windows.push(made);
  return ok(made, 201);
});
route("DELETE", "/maintenance/:id", (_, windowId) => {
  planned.windows = planned.windows.filter((one) => one.id !== windowId);
  return { status: 204 };
});
route("GET", "/oncall", () => ok(planned.rotations.map(oncall)));
route("GET", "/oncall/people", () =>
  ok(USERS.map((one): Colleague => ({ id: one.id, name: one.name, role: one.role }))),
);
route("GET", "/rotations", () => ok(planned.rotations));
route("POST", "/rotations", ({ body }) => {
  const origin = body.origin as Record<string, unknown>;
  const made = { ...PRIMARY, ...origin, name: body.name, people: PRIMARY.people } as Rotation;
  planned.rotations.push(made);
  return ok(made, 201);
});
route("PUT", "/rotations/:id/calendar", () => ok(planned.rotations[0]));
route("POST", "/rotations/:id/overrides", ({ body }) => {
  const who = USERS.find((one) => one.id === body.user_id)!;
  const taken: Turn = {
    ...turn(0, 0, 1),
    who: who.name,
    how: "override",
    start: String(body.starts_at),
    end: String(body.ends_at),
  };
  planned.rotations = planned.rotations.map((one) => ({ ...one, now: [taken] }));
  return ok(planned.rotations[0], 201);
});
route("DELETE", "/rotations/:id", (_, rotationId) => {
  planned.rotations = planned.rotations.filter((one) => one.id !== rotationId);
  return { status: 204 };
});
