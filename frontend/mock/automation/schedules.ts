/** Schedules, maintenance windows, and on-call rotations. */
import type {
  MaintenanceWindow,
  Oncall,
  OncallCandidate,
  Rotation,
  Schedule,
} from "../../src/client/models.ts";
import type { Shift } from "../../src/features/oncall/api.ts";
import type { Upcoming } from "../../src/features/schedules/api.ts";
import { makeId } from "../server/pseudoRandom.ts";
import { addRoute, respond, respondList, respondProblem } from "../server/routes.ts";
import { USERS } from "../server/state.ts";

const DAY_MS = 86_400_000;
const DAY_MIN = 1440;
const NIGHT = "30 3 * * *";
const at = (days: number): string =>
  new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS + days * DAY_MS + 3.5 * 3_600_000).toISOString();

export const listUpcoming = (count: number): Upcoming[] =>
  Array.from({ length: count }, (_, n) => ({
    at: at(n + 1),
    local_time: at(n + 1).replace(".000Z", "+00:00"),
    requested_local_time: at(n + 1).slice(0, 16),
    kind: n === 3 ? "gap" : "plain",
    window: n === 1 ? { id: makeId("win", 0), reason: "new disks", ends_at: at(2.5) } : null,
  }));

const timesOf = (minutes: number): MaintenanceWindow["times"] =>
  listUpcoming(5).map(({ at: begin, kind }) => ({
    starts_at: begin,
    ends_at: new Date(Date.parse(begin) + minutes * 60_000).toISOString(),
    kind,
  }));

const NIGHTLY: Schedule = {
  id: makeId("sched", 0),
  name: "nightly baseline",
  cadence: { kind: "cron", cron: NIGHT, zone: "UTC" },
  capture: {
    plan: "baseline",
    seconds: null,
    collectors: null,
    scope: { kind: "host", value: "" },
    options: {},
  },
  tier: "light",
  hosts: [],
  labels: { role: "feed" },
  matching: 166,
  reason: "to compare with",
  catch_up: "one",
  tolerance_s: 300,
  deep_allowed: false,
  state: "active",
  next_due: at(1),
  upcoming: listUpcoming(10),
  recent: [
    {
      id: makeId("fire", 0),
      due_at: at(0),
      last_due_at: at(0),
      count: 1,
      state: "started",
      reason: null,
      capture: { id: makeId("cap", 0), number: 41, state: "done" },
      at: at(0),
    },
    {
      id: makeId("fire", 1),
      due_at: at(-1),
      last_due_at: at(-1),
      count: 1,
      state: "skipped",
      reason: { key: "schedule.in_maintenance", params: { until: "06:00", reason: "new disks" } },
      capture: null,
      at: at(-1),
    },
    {
      id: makeId("fire", 2),
      due_at: at(-5),
      last_due_at: at(-2),
      count: 4,
      state: "missed",
      reason: { key: "schedule.missed", params: { count: 4 } },
      capture: null,
      at: at(-1.9),
    },
  ],
  counts: { started: 12, missed: 4, skipped: 1 },
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
    id: makeId("sched", 1),
    name: "scheduling on Fridays",
    cadence: { kind: "cron", cron: "0 10 * * 5", zone: "Asia/Shanghai" },
    capture: { ...NIGHTLY.capture, plan: "sched" },
    tier: "deep",
    recent: [],
    counts: {},
    refusal: { key: "schedule.deep_not_allowed", params: {} },
    version: 1,
  },
];

const shift = (who: number, from: number, to: number): Shift => ({
  start: at(from),
  end: at(to),
  who: USERS[who]!.name,
  person: { id: USERS[who]!.id, name: USERS[who]!.name, role: USERS[who]!.role, disabled: false },
  source: "rotation",
  level: 1,
});

const PRIMARY: Rotation = {
  id: makeId("rota", 0),
  name: "primary",
  kind: "simple",
  zone: "Europe/Berlin",
  handover: "09:00",
  first_day: "2026-11-02",
  days: 7,
  people: [shift(0, 0, 1).person!, shift(1, 0, 1).person!],
  source: {},
  has_secret: false,
  accounts: {},
  overrides: [],
  now: [shift(0, -3, 4)],
  next: shift(1, 4, 11),
  shifts: [shift(0, -3, 4), shift(1, 4, 11), shift(0, 11, 18)],
  fetched_at: null,
  failure: null,
  version: 1,
};

const oncall = (rotation: Rotation): Oncall => ({
  rotation: { id: rotation.id, name: rotation.name },
  now: rotation.now,
  next: rotation.next,
  fetched_at: rotation.fetched_at,
  failure: rotation.failure,
});

/** State that screens change; `resetSchedules` restores it. */
export const mockSchedules = {
  schedules: [...SCHEDULES] as Schedule[],
  windows: [] as MaintenanceWindow[],
  rotations: [] as Rotation[],
};
export function resetSchedules(): void {
  mockSchedules.schedules = [...SCHEDULES];
  mockSchedules.windows = [];
  mockSchedules.rotations = [];
}
export const setRotation = (change: Partial<Rotation> = {}): void => {
  mockSchedules.rotations = [{ ...PRIMARY, ...change }];
};

const findSchedule = (scheduleId: string | undefined) =>
  mockSchedules.schedules.find((schedule) => schedule.id === scheduleId);
const respondNotFound = () => respondProblem(404, "schedule.not_found", "There is no such schedule.");

addRoute("GET", "/schedules", () => respondList(mockSchedules.schedules));
addRoute("POST", "/schedules/preview", ({ body }) => {
  const cadence = body.cadence as Schedule["cadence"];
  if (cadence.kind === "cron" && cadence.cron.split(/\s+/).length !== 5)
    return respondProblem(422, "schedule.cron_unreadable", "", { what: "five fields" });
  return respond({ cron: NIGHT, zone: cadence.zone, upcoming: listUpcoming(Number(body.count ?? 10)) });
});
addRoute("POST", "/schedules", ({ body }) => {
  const newSchedule = {
    ...NIGHTLY,
    ...body,
    id: makeId("sched", Math.random()),
    recent: [],
    counts: {},
  } as Schedule;
  mockSchedules.schedules.unshift(newSchedule);
  return respond(newSchedule, 201);
});
addRoute("PATCH", "/schedules/:id", ({ body }, scheduleId) => {
  const schedule = findSchedule(scheduleId);
  if (!schedule) return respondNotFound();
  const state = body.paused === true ? "paused" : body.paused === false ? "active" : schedule.state;
  const changed = { ...schedule, ...body, state, version: schedule.version + 1 } as Schedule;
  mockSchedules.schedules = mockSchedules.schedules.map((each) => (each.id === schedule.id ? changed : each));
  return respond(changed);
});
addRoute("DELETE", "/schedules/:id", (_, scheduleId) => {
  mockSchedules.schedules = mockSchedules.schedules.filter((schedule) => schedule.id !== scheduleId);
  return { status: 204 };
});
addRoute("GET", "/maintenance-windows", () => respondList(mockSchedules.windows));
addRoute("POST", "/maintenance-windows", ({ body }) => {
  const recurs = (body.recurs ?? null) as MaintenanceWindow["recurs"];
  if (recurs && recurs.minutes >= DAY_MIN)
    return respondProblem(422, "maintenance.no_pause", "", { minutes: recurs.minutes, apart: DAY_MIN });
  const once = { starts_at: String(body.starts_at), ends_at: String(body.ends_at), kind: "plain" as const };
  const newWindow = {
    host: null,
    labels: null,
    by: { id: USERS[0]!.id, name: USERS[0]!.name },
    state: recurs ? "upcoming" : "active",
    ends_at: null,
    ...body,
    recurs,
    times: recurs ? timesOf(recurs.minutes) : [once],
    id: makeId("win", Math.random()),
  } as unknown as MaintenanceWindow;
  mockSchedules.windows.push(newWindow);
  return respond(newWindow, 201);
});
addRoute("DELETE", "/maintenance-windows/:id", (_, windowId) => {
  mockSchedules.windows = mockSchedules.windows.filter((window) => window.id !== windowId);
  return { status: 204 };
});
addRoute("GET", "/oncall", () => respond(mockSchedules.rotations.map(oncall)));
addRoute("GET", "/oncall/candidates", () =>
  respond(USERS.map((user): OncallCandidate => ({ id: user.id, name: user.name, role: user.role }))),
);
addRoute("GET", "/rotations", () => respond(mockSchedules.rotations));
addRoute("POST", "/rotations", ({ body }) => {
  const source = body.source as Record<string, unknown>;
  const newRotation = { ...PRIMARY, ...source, name: body.name, people: PRIMARY.people } as Rotation;
  mockSchedules.rotations.push(newRotation);
  return respond(newRotation, 201);
});
addRoute("PUT", "/rotations/:id/calendar", () => respond(mockSchedules.rotations[0]));
addRoute("POST", "/rotations/:id/overrides", ({ body }) => {
  const who = USERS.find((user) => user.id === body.user_id)!;
  const taken: Shift = {
    ...shift(0, 0, 1),
    who: who.name,
    source: "override",
    start: String(body.starts_at),
    end: String(body.ends_at),
  };
  mockSchedules.rotations = mockSchedules.rotations.map((rotation) => ({ ...rotation, now: [taken] }));
  return respond(mockSchedules.rotations[0], 201);
});
addRoute("DELETE", "/rotations/:id", (_, rotationId) => {
  mockSchedules.rotations = mockSchedules.rotations.filter((rotation) => rotation.id !== rotationId);
  return { status: 204 };
});
