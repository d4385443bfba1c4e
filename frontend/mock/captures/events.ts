/** What people and pipelines told. */
import type { ToldEvent } from "../src/client/events.ts";
import { id } from "./noise.ts";
import { list, ok, problem, route } from "./routes.ts";
import { state, USERS } from "./state.ts";
import { HOSTS, TAKEN } from "./world.ts";

const last = TAKEN[TAKEN.length - 1]!;
/** Minutes after the newest capture began. */
const at = (minutes: number): string => new Date((last.from + minutes * 60) * 1000).toISOString();
const hosts = (...which: number[]) => which.map((n) => ({ id: HOSTS[n]!.id, name: HOSTS[n]!.name }));

const DEPLOY: ToldEvent = {
  id: id("told", 0),
  kind: "deploy",
  what: "feed 4f2a",
  who: "release train",
  detail: "canary on feed-1, the rest after ten minutes",
  link: "https://ci.example/jobs/4711",
  at: at(-4),
  until: at(-2),
  where: {
    kind: "service",
    labels: { role: "feed" },
    service: "feed",
    hosts: hosts(0, 1, 2),
    hosts_total: 166,
  },
  external_id: "job-4711",
  told_by: { id: USERS[0]!.id, name: USERS[0]!.name },
  created_at: at(-4),
  changed_at: at(-2),
  withdrawn_at: null,
  may_change: true,
};

export const firstEvents = (): ToldEvent[] => [
  DEPLOY,
  {
    ...DEPLOY,
    id: id("told", 1),
    kind: "config",
    what: "net.core.somaxconn 128 → 4096 <b>by hand</b>",
    who: "",
    detail: "",
    link: null,
    until: null,
    at: at(-60),
    where: { kind: "hosts", labels: null, service: null, hosts: hosts(0), hosts_total: 1 },
    external_id: null,
    told_by: { id: USERS[1]!.id, name: USERS[1]!.name },
    may_change: true,
  },
  {
    ...DEPLOY,
    id: id("told", 2),
    kind: "note",
    what: "Load test begins",
    who: "",
    detail: "",
    link: null,
    until: at(60 * 24),
    at: at(-60 * 24),
    where: { kind: "everywhere", labels: null, service: null, hosts: [], hosts_total: 0 },
    external_id: null,
    withdrawn_at: at(-60 * 23),
    may_change: false,
  },
];

export const told = { events: firstEvents() };
export const resetEvents = (): void => {
  told.events = firstEvents();
};

const may = () => state.role !== "viewer";
const shown = (one: ToldEvent): ToldEvent => ({ ...one, may_change: one.may_change && may() });

/** What is drawn on the timeline of a host. */
export const toldOf = (hostId: string) =>
  told.events
    .filter((one) => !one.withdrawn_at)
    .filter((one) => one.where.kind === "everywhere" || one.where.hosts.some((host) => host.id === hostId))
    .map((one) => ({
      id: one.id,
      t_ns: Date.parse(one.at) * 1e6,
      end_ns: one.until ? Date.parse(one.until) * 1e6 : null,
      uncertainty_ns: 0,
      kind: one.kind,
      severity: "info" as const,
      title: { key: "annotation.title", params: { what: one.what } },
      detail: one.detail,
      artifact_id: null,
      line: null,
      run_id: null,
      told: {
        by: one.told_by.name,
        who: one.who,
        link: one.link,
        everywhere: one.where.kind === "everywhere",
      },
    }));

route("GET", "/events", ({ query }) =>
  list(
    state.empty
      ? []
      : told.events.filter((one) => !one.withdrawn_at || query.get("withdrawn") === "true").map(shown),
  ),
);
route("POST", "/events", ({ body }) => {
  const named = (body.hosts as string[] | undefined) ?? [];
  const one: ToldEvent = {
    ...DEPLOY,
    ...(body as Partial<ToldEvent>),
    id: id("told", told.events.length),
    until: (body.until as string) ?? null,
    link: (body.link as string) ?? null,
    where: {
      kind: body.everywhere ? "everywhere" : body.service ? "service" : body.labels ? "labels" : "hosts",
      labels: (body.labels as Record<string, string>) ?? null,
      service: (body.service as string) ?? null,
      hosts: HOSTS.filter((host) => named.includes(host.id)).map(({ id: key, name }) => ({ id: key, name })),
      hosts_total: named.length,
    },
    external_id: null,
    changed_at: null,
  };
  told.events = [one, ...told.events];
  return ok(one, 201);
});
route("PATCH", "/events/:id", ({ body }, eventId) => {
  const before = told.events.find((one) => one.id === eventId);
  if (!before) return problem(404, "annotation.not_found", "There is no such event.");
  const after = { ...before, ...(body as Partial<ToldEvent>) };
  told.events = told.events.map((one) => (one.id === eventId ? after : one));
  return ok(after);
});
route("DELETE", "/events/:id", (_, eventId) => {
  told.events = told.events.map((one) =>
    one.id === eventId ? { ...one, withdrawn_at: new Date().toISOString(), may_change: false } : one,
  );
  return ok(null, 204);
});
