/** Incidents that change while they are looked at: every write bumps the version, a stale one is refused. */
import type * as I from "../src/client/incidents.ts";
import type * as T from "../src/client/types.ts";
import { delayFound } from "./findings.ts";
import { GONE_PIN } from "./incidentParts.ts";
import { INCIDENTS, JOURNAL } from "./investigations.ts";
import * as live from "./live.ts";
import { id } from "./noise.ts";
import { list, type MockAnswer, type MockRequest, ok, problem, route } from "./routes.ts";
import { me, state } from "./state.ts";
import { HOSTS } from "./world.ts";

let incidents = structuredClone(INCIDENTS);
/** As it stands now. */
export const incidentOf = (which: string): I.Incident | undefined =>
  incidents.find((one) => one.id === which);
let journal = structuredClone(JOURNAL);

/** Everything as it was at first. */
export function resetIncidents(): void {
  incidents = structuredClone(INCIDENTS);
  journal = structuredClone(JOURNAL);
}

export const actor = () => ({ id: me().id, name: me().name });
const notFound = () => problem(404, "incident.not_found", "There is no such incident.");

const LAST_OF_THE_PAST = 480;
const ruled = (found: T.Finding): Omit<I.HostAnswer, "host_id"> => ({
  run_id: null,
  verdict: "supports",
  by: "rule",
  rule_verdict: "supports",
  person: null,
  grade: found.grade,
  reason: null,
  findings: [found],
  muted: [],
  pins: [],
  disagrees: false,
});

/** With the states of its captures as they are now, and what the signed-in person may. */
function read(one: I.Incident): I.Incident {
  const may = me().may;
  const runs = one.runs.map((run) => ({
    ...run,
    state: live.read(run.capture_id)?.runs.find((each) => each.id === run.run_id)?.state ?? run.state,
  }));
  const answered = runs.filter((run) => run.step && run.state === "done" && run.number > LAST_OF_THE_PAST);
  const steps = one.steps.map((step) => {
    const run = answered.find((each) => each.step === step.key);
    if (!run) return step;
    const hosts = step.hosts.map((host) =>
      host.host_id === run.host_id
        ? { ...ruled(delayFound), host_id: host.host_id, run_id: run.run_id }
        : host,
    );
    return { ...step, verdict: "supports" as const, hosts };
  });
  const gaps = one.gaps.filter((key) => !answered.some((run) => run.step === key));
  const edit = may.includes("incident.edit");
  const tiers = ["light", "standard", "deep", "ptrace"].filter((tier) => may.includes(`capture.${tier}`));
  return {
    ...one,
    runs,
    steps,
    gaps,
    next: gaps.length > 0 ? one.next : null,
    may: {
      edit,
      comment: edit,
      resolve: may.includes("incident.resolve"),
      capture: edit,
      tiers,
      mute: edit,
      autopilot: edit,
      bundle: edit,
    },
  };
}

const summary = (one: I.Incident): I.IncidentSummary => ({
  ...one,
  hosts: one.hosts.map((host) => host.name),
  people: one.people.length,
  fixes: one.fixes.map((fix) => fix.state),
});

export function enter(
  one: I.Incident,
  kind: string,
  params: I.JournalEntry["params"] = {},
  note = "",
  by = actor(),
): void {
  one.version += 1;
  one.updated_at = new Date().toISOString();
  journal.push({
    id: id("journal", one.id, one.version),
    version: one.version,
    kind,
    params,
    note,
    by,
    at: one.updated_at,
  });
}

/** Somebody else changes an incident meanwhile. */
export function meanwhile(incidentId: string, note: string): void {
  const one = incidents.find((each) => each.id === incidentId);
  if (one) enter(one, "note", {}, note, { id: "lena", name: "lena" });
}

type Change = (one: I.Incident, request: MockRequest, ...ids: string[]) => MockAnswer | string | undefined;

/** A write: refused where another version was seen; answers with the incident as it is then. */
export function write(method: string, path: string, change: Change): void {
  route(method, `/incidents/:id${path}`, (request, incidentId, ...ids) => {
    const one = incidents.find((each) => each.id === incidentId);
    if (!one) return notFound();
    if (request.body.version !== one.version)
      return problem(409, "incident.changed", "changed", {
        who: "lena",
        what: "note",
        version: one.version,
      });
    const done = change(one, request, ...ids);
    if (typeof done === "object") return done;
    return ok({ ...read(one), made: done ?? null }, method === "POST" ? 201 : 200);
  });
}

route("GET", "/incidents", () => list(state.empty ? [] : incidents.map(summary)));
route("POST", "/incidents", ({ body }) => {
  const [, bare] = incidents;
  const made: I.Incident = {
    ...structuredClone(bare as I.Incident),
    id: id("incident", 100 + incidents.length),
    number: 40 + incidents.length,
    title: String(body.title),
    severity: Number(body.severity) as 1,
    symptom: body.symptom as I.Symptom,
    version: 1,
    hosts: (
      (body.hosts as { host_id: string; scope: I.IncidentHost["scope"]; role: I.HostRole }[]) ?? []
    ).map((given) => ({
      id: given.host_id,
      name: HOSTS.find((host) => host.id === given.host_id)?.name ?? "",
      scope: given.scope,
      role: given.role,
      enrolled: true,
    })),
  };
  incidents.unshift(made);
  return ok(read(made), 201);
});
route("GET", "/incidents/:id", (_, incidentId) => {
  const one = incidents.find((each) => each.id === incidentId);
  return one ? ok(read(one)) : notFound();
});
route("GET", "/causes/outcomes", () =>
  ok([{ cause: "cpu-oversubscribed", right: 7, wrong: 1, instead: { "lock-contention": 1 } }]),
);
route("GET", "/incidents/:id/journal", (_, incidentId) => ok(incidentId === INCIDENTS[0]?.id ? journal : []));
route("GET", "/incidents/:id/pins/:id", (_, incidentId, pinId) => {
  const pin = incidents.find((one) => one.id === incidentId)?.pins.find((one) => one.id === pinId);
  if (!pin) return problem(404, "incident.no_pin", "There is no such pin.");
  return ok({ ...pin, state: pinId === GONE_PIN ? "gone" : "intact" });
});
