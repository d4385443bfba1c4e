/** Incidents that change while they are looked at: every write bumps the version, a stale one is refused. */
import type * as T from "../../src/client/models.ts";
import type { HostAnswer, HostRole, IncidentHost, Symptom } from "../../src/features/incidents/api.ts";
import { readDiagnosis, startDiagnosis } from "../analysis/diagnosisRecords.ts";
import { delayFinding } from "../analysis/findings.ts";
import * as live from "../captures/live.ts";
import { id } from "../server/noise.ts";
import { list, type MockAnswer, type MockRequest, ok, problem, route } from "../server/routes.ts";
import { me, state } from "../server/state.ts";
import { HOSTS } from "../world.ts";
import { GONE_PIN } from "./incidentParts.ts";
import { INCIDENTS, JOURNAL } from "./investigations.ts";

let incidents = structuredClone(INCIDENTS);
/** Return the current state of an incident. */
export const incidentOf = (which: string): T.Incident | undefined =>
  incidents.find((incident) => incident.id === which);
let journal = structuredClone(JOURNAL);

/** Everything as it was at first. */
export function resetIncidents(): void {
  incidents = structuredClone(INCIDENTS);
  journal = structuredClone(JOURNAL);
}

export const actor = () => ({ id: me().id, name: me().name });
const notFound = () => problem(404, "incident.not_found", "There is no such incident.");

const LAST_OF_THE_PAST = 480;
const ruled = (finding: T.Finding): Omit<HostAnswer, "host_id"> => ({
  run_id: null,
  verdict: "supports",
  by: "rule",
  rule_verdict: "supports",
  person: null,
  strength: finding.strength,
  reason: null,
  findings: [finding],
  muted: [],
  pins: [],
  disagrees: false,
});

/** With the states of its captures as they are now, and what the signed-in person may. */
function read(incident: T.Incident): T.Incident {
  const may = me().permissions;
  const runs = incident.runs.map((run) => ({
    ...run,
    state: live.read(run.capture_id)?.runs.find((each) => each.id === run.run_id)?.state ?? run.state,
  }));
  const answered = runs.filter((run) => run.step && run.state === "done" && run.number > LAST_OF_THE_PAST);
  const steps = incident.steps.map((step) => {
    const run = answered.find((each) => each.step === step.key);
    if (!run) return step;
    const hosts = step.hosts.map((host) =>
      host.host_id === run.host_id
        ? { ...ruled(delayFinding), host_id: host.host_id, run_id: run.run_id }
        : host,
    );
    return { ...step, verdict: "supports" as const, hosts };
  });
  const diagnoses = incident.diagnoses.map((item) => ({
    ...item,
    state: readDiagnosis(item.id)?.state ?? item.state,
  }));
  const gaps = incident.gaps.filter((key) => !answered.some((run) => run.step === key));
  const edit = may.includes("incident.edit");
  const tiers = ["light", "standard", "deep", "ptrace"].filter((tier) => may.includes(`capture.${tier}`));
  return {
    ...incident,
    runs,
    diagnoses,
    steps,
    gaps,
    next: gaps.length > 0 ? incident.next : null,
    permissions: {
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

const summary = (incident: T.Incident): T.IncidentSummary => ({
  ...incident,
  hosts: incident.hosts.map((host) => host.name),
  people: incident.people.length,
  owner: incident.owner,
  fixes: incident.fixes.map((fix) => fix.state),
});

export function enter(
  incident: T.Incident,
  kind: string,
  params: T.JournalEntry["params"] = {},
  note = "",
  by = actor(),
): void {
  incident.version += 1;
  incident.updated_at = new Date().toISOString();
  journal.push({
    id: id("journal", incident.id, incident.version),
    version: incident.version,
    kind,
    params,
    note,
    by,
    at: incident.updated_at,
  });
}

/** Change an incident as another user would. */
export function meanwhile(incidentId: string, note: string): void {
  const incident = incidents.find((each) => each.id === incidentId);
  if (incident) enter(incident, "note_added", {}, note, { id: "lena", name: "lena" });
}

type Change = (
  incident: T.Incident,
  request: MockRequest,
  ...ids: string[]
) => MockAnswer | string | undefined;

/** A write: refused where another version was seen; answers with the incident as it is then. */
export function write(method: string, path: string, change: Change): void {
  route(method, `/incidents/:id${path}`, (request, incidentId, ...ids) => {
    const incident = incidents.find((each) => each.id === incidentId);
    if (!incident) return notFound();
    if (request.body.version !== incident.version)
      return problem(409, "incident.changed", "changed", {
        who: "lena",
        what: "note_added",
        version: incident.version,
      });
    const done = change(incident, request, ...ids);
    if (typeof done === "object") return done;
    return ok({ ...read(incident), created_id: done ?? null }, method === "POST" ? 201 : 200);
  });
}

route("GET", "/incidents", () => list(state.empty ? [] : incidents.map(summary)));
route("POST", "/incidents", ({ body }) => {
  const [, bare] = incidents;
  const newIncident: T.Incident = {
    ...structuredClone(bare as T.Incident),
    id: id("incident", 100 + incidents.length),
    number: 40 + incidents.length,
    title: String(body.title),
    severity: Number(body.severity) as 1,
    symptom: body.symptom as Symptom,
    version: 1,
    hosts: ((body.hosts as { host_id: string; scope: IncidentHost["scope"]; role: HostRole }[]) ?? []).map(
      (symptom) => ({
        id: symptom.host_id,
        name: HOSTS.find((host) => host.id === symptom.host_id)?.name ?? "",
        scope: symptom.scope,
        role: symptom.role,
        can_capture: true,
      }),
    ),
  };
  incidents.unshift(newIncident);
  return ok(read(newIncident), 201);
});
/** A diagnosis of an incident as the list of the incident has it. */
export const listed = ({ id: diagnosisId, number, host, state: at, created_at }: T.Diagnosis) => ({
  id: diagnosisId,
  number,
  host_id: host.id,
  state: at,
  created_at,
});

route("POST", "/incidents/:id/diagnoses", ({ body }, incidentId) => {
  const incident = incidentOf(incidentId ?? "");
  const started = incident && startDiagnosis(body);
  if (!started) return notFound();
  incident.diagnoses.unshift(listed(started));
  enter(incident, "diagnosis_started", { number: started.number, host: started.host.name });
  return ok({ ...read(incident), created_id: started.id }, 201);
});
route("GET", "/incidents/:id", (_, incidentId) => {
  const incident = incidents.find((each) => each.id === incidentId);
  return incident ? ok(read(incident)) : notFound();
});
route("GET", "/causes/outcomes", () =>
  ok([{ cause: "cpu-oversubscribed", right: 7, wrong: 1, instead: { "lock-contention": 1 } }]),
);
route("GET", "/incidents/:id/journal", (_, incidentId) => ok(incidentId === INCIDENTS[0]?.id ? journal : []));
route("GET", "/incidents/:id/pins/:id", (_, incidentId, pinId) => {
  const pin = incidents.find((incident) => incident.id === incidentId)?.pins.find((pin) => pin.id === pinId);
  if (!pin) return problem(404, "incident.no_pin", "There is no such pin.");
  return ok({ ...pin, state: pinId === GONE_PIN ? "gone" : "intact" });
});
