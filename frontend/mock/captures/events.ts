/** Reported events. */
import type { ReportedEvent } from "../../src/client/models.ts";
import { HOSTS, TAKEN_CAPTURES } from "../dataset.ts";
import { makeId } from "../server/pseudoRandom.ts";
import { addRoute, respond, respondList, respondProblem } from "../server/routes.ts";
import { state, USERS } from "../server/state.ts";

const last = TAKEN_CAPTURES[TAKEN_CAPTURES.length - 1]!;
/** Return the time some minutes after the start of the newest capture. */
const at = (minutes: number): string => new Date((last.from + minutes * 60) * 1000).toISOString();
const hosts = (...which: number[]) => which.map((n) => ({ id: HOSTS[n]!.id, name: HOSTS[n]!.name }));

const DEPLOY: ReportedEvent = {
  id: makeId("reported-event", 0),
  kind: "deploy",
  what: "feed 4f2a",
  who: "release train",
  detail: "canary on feed-1, the rest after ten minutes",
  link: "https://ci.example/jobs/4711",
  at: at(-4),
  until: at(-2),
  target: {
    kind: "service",
    labels: { role: "feed" },
    service: "feed",
    hosts: hosts(0, 1, 2),
    host_count: 166,
  },
  external_id: "job-4711",
  reported_by: { id: USERS[0]!.id, name: USERS[0]!.name },
  created_at: at(-4),
  changed_at: at(-2),
  withdrawn_at: null,
  can_update: true,
};

export const createEvents = (): ReportedEvent[] => [
  DEPLOY,
  {
    ...DEPLOY,
    id: makeId("reported-event", 1),
    kind: "config",
    what: "net.core.somaxconn 128 → 4096 <b>by hand</b>",
    who: "",
    detail: "",
    link: null,
    until: null,
    at: at(-60),
    target: { kind: "hosts", labels: null, service: null, hosts: hosts(0), host_count: 1 },
    external_id: null,
    reported_by: { id: USERS[1]!.id, name: USERS[1]!.name },
    can_update: true,
  },
  {
    ...DEPLOY,
    id: makeId("reported-event", 2),
    kind: "note",
    what: "Load test begins",
    who: "",
    detail: "",
    link: null,
    until: at(60 * 24),
    at: at(-60 * 24),
    target: { kind: "everywhere", labels: null, service: null, hosts: [], host_count: 0 },
    external_id: null,
    withdrawn_at: at(-60 * 23),
    can_update: false,
  },
];

export const mockEvents = { events: createEvents() };
export const resetEvents = (): void => {
  mockEvents.events = createEvents();
};

const canReport = () => state.role !== "viewer";
const withPermission = (event: ReportedEvent): ReportedEvent => ({
  ...event,
  can_update: event.can_update && canReport(),
});

/** Reported events on the timeline of a host. */
export const listReportedEvents = (hostId: string) =>
  mockEvents.events
    .filter((event) => !event.withdrawn_at)
    .filter(
      (event) => event.target.kind === "everywhere" || event.target.hosts.some((host) => host.id === hostId),
    )
    .map((event) => ({
      id: event.id,
      t_ns: Date.parse(event.at) * 1e6,
      end_ns: event.until ? Date.parse(event.until) * 1e6 : null,
      uncertainty_ns: 0,
      kind: event.kind,
      severity: "info" as const,
      title: { key: "reported_event.title", params: { what: event.what } },
      detail: event.detail,
      artifact_id: null,
      line: null,
      run_id: null,
      reported: {
        by: event.reported_by.name,
        who: event.who,
        link: event.link,
        everywhere: event.target.kind === "everywhere",
      },
    }));

addRoute("GET", "/reported-events", ({ query }) =>
  respondList(
    state.empty
      ? []
      : mockEvents.events
          .filter((event) => !event.withdrawn_at || query.get("withdrawn") === "true")
          .map(withPermission),
  ),
);
addRoute("POST", "/reported-events", ({ body }) => {
  const named = (body.hosts as string[] | undefined) ?? [];
  const event: ReportedEvent = {
    ...DEPLOY,
    ...(body as Partial<ReportedEvent>),
    id: makeId("reported-event", mockEvents.events.length),
    until: (body.until as string) ?? null,
    link: (body.link as string) ?? null,
    target: {
      kind: body.everywhere ? "everywhere" : body.service ? "service" : body.labels ? "labels" : "hosts",
      labels: (body.labels as Record<string, string>) ?? null,
      service: (body.service as string) ?? null,
      hosts: HOSTS.filter((host) => named.includes(host.id)).map(({ id: key, name }) => ({ id: key, name })),
      host_count: named.length,
    },
    external_id: null,
    changed_at: null,
  };
  mockEvents.events = [event, ...mockEvents.events];
  return respond(event, 201);
});
addRoute("PATCH", "/reported-events/:id", ({ body }, eventId) => {
  const before = mockEvents.events.find((event) => event.id === eventId);
  if (!before)
    return respondProblem(404, "reported_event.not_found", "Event not found, or you have no access to it.");
  const after = { ...before, ...(body as Partial<ReportedEvent>) };
  mockEvents.events = mockEvents.events.map((event) => (event.id === eventId ? after : event));
  return respond(after);
});
addRoute("DELETE", "/reported-events/:id", (_, eventId) => {
  mockEvents.events = mockEvents.events.map((event) =>
    event.id === eventId ? { ...event, withdrawn_at: new Date().toISOString(), can_update: false } : event,
  );
  return respond(null, 204);
});
