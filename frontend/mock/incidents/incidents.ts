/** Incidents with optimistic locking: each write increases the version; a write with an older version is rejected. */
import type * as T from "../../src/client/models.ts";
import type { HostAnswer, HostRole, IncidentHost, Symptom } from "../../src/features/incidents/api.ts";
import { findDiagnosis, startDiagnosis } from "../analysis/diagnosisRecords.ts";
import { delayFinding } from "../analysis/findings.ts";
import * as live from "../captures/live.ts";
import { HOSTS } from "../dataset.ts";
import { makeId } from "../server/pseudoRandom.ts";
import {
  addRoute,
  type MockAnswer,
  type MockRequest,
  respond,
  respondList,
  respondProblem,
} from "../server/routes.ts";
import { currentUser, state } from "../server/state.ts";
import { MISSING_PIN_ID } from "./incidentParts.ts";
import { INCIDENTS, JOURNAL } from "./investigations.ts";

let incidents = structuredClone(INCIDENTS);
/** Return the current state of an incident. */
export const findIncident = (which: string): T.Incident | undefined =>
  incidents.find((incident) => incident.id === which);
let journal = structuredClone(JOURNAL);

/** Restore the initial state of all incidents. */
export function resetIncidents(): void {
  incidents = structuredClone(INCIDENTS);
  journal = structuredClone(JOURNAL);
}

export const currentActor = () => ({ id: currentUser().id, name: currentUser().name });
const notFound = () => respondProblem(404, "incident.not_found", "There is no such incident.");

const LAST_OF_THE_PAST = 480;
const toRuleAnswer = (finding: T.Finding): Omit<HostAnswer, "host_id"> => ({
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

/** Return an incident with the current states of its captures and the permissions of the user. */
function withCurrentState(incident: T.Incident): T.Incident {
  const may = currentUser().permissions;
  const runs = incident.runs.map((run) => ({
    ...run,
    state: live.findCapture(run.capture_id)?.runs.find((each) => each.id === run.run_id)?.state ?? run.state,
  }));
  const answered = runs.filter((run) => run.step && run.state === "done" && run.number > LAST_OF_THE_PAST);
  const steps = incident.steps.map((step) => {
    const run = answered.find((each) => each.step === step.key);
    if (!run) return step;
    const hosts = step.hosts.map((host) =>
      host.host_id === run.host_id
        ? { ...toRuleAnswer(delayFinding), host_id: host.host_id, run_id: run.run_id }
        : host,
    );
    return { ...step, verdict: "supports" as const, hosts };
  });
  const diagnoses = incident.diagnoses.map((item) => ({
    ...item,
    state: findDiagnosis(item.id)?.state ?? item.state,
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

export function addJournalEntry(
  incident: T.Incident,
  kind: string,
  params: T.JournalEntry["params"] = {},
  note = "",
  by = currentActor(),
): void {
  incident.version += 1;
  incident.updated_at = new Date().toISOString();
  journal.push({
    id: makeId("journal", incident.id, incident.version),
    version: incident.version,
    kind,
    params,
    note,
    by,
    at: incident.updated_at,
  });
}

/** Add a note as another user. */
export function addNoteAsOtherUser(incidentId: string, note: string): void {
  const incident = incidents.find((each) => each.id === incidentId);
  if (incident) addJournalEntry(incident, "note_added", {}, note, { id: "lena", name: "lena" });
}

type Change = (
  incident: T.Incident,
  request: MockRequest,
  ...ids: string[]
) => MockAnswer | string | undefined;

/** Add a route that changes an incident. It rejects other versions and returns the changed incident. */
export function addWriteRoute(method: string, path: string, change: Change): void {
  addRoute(method, `/incidents/:id${path}`, (request, incidentId, ...ids) => {
    const incident = incidents.find((each) => each.id === incidentId);
    if (!incident) return notFound();
    if (request.body.version !== incident.version)
      return respondProblem(409, "incident.changed", "changed", {
        who: "lena",
        what: "note_added",
        version: incident.version,
      });
    const done = change(incident, request, ...ids);
    if (typeof done === "object") return done;
    return respond(
      { ...withCurrentState(incident), created_id: done ?? null },
      method === "POST" ? 201 : 200,
    );
  });
}

addRoute("GET", "/incidents", () => respondList(state.empty ? [] : incidents.map(summary)));
addRoute("POST", "/incidents", ({ body }) => {
  const [, bare] = incidents;
  const newIncident: T.Incident = {
    ...structuredClone(bare as T.Incident),
    id: makeId("incident", 100 + incidents.length),
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
  return respond(withCurrentState(newIncident), 201);
});
/** Return a diagnosis as an item of the incident's list. */
export const toDiagnosisSummary = ({
  id: diagnosisId,
  number,
  host,
  state: at,
  created_at,
}: T.Diagnosis) => ({
  id: diagnosisId,
  number,
  host_id: host.id,
  state: at,
  created_at,
});

addRoute("POST", "/incidents/:id/diagnoses", ({ body }, incidentId) => {
  const incident = findIncident(incidentId ?? "");
  const started = incident && startDiagnosis(body);
  if (!started) return notFound();
  incident.diagnoses.unshift(toDiagnosisSummary(started));
  addJournalEntry(incident, "diagnosis_started", { number: started.number, host: started.host.name });
  return respond({ ...withCurrentState(incident), created_id: started.id }, 201);
});
addRoute("GET", "/incidents/:id", (_, incidentId) => {
  const incident = incidents.find((each) => each.id === incidentId);
  return incident ? respond(withCurrentState(incident)) : notFound();
});
addRoute("GET", "/causes/outcomes", () =>
  respond([{ cause: "cpu-oversubscribed", right: 7, wrong: 1, instead: { "lock-contention": 1 } }]),
);
addRoute("GET", "/incidents/:id/journal", (_, incidentId) =>
  respond(incidentId === INCIDENTS[0]?.id ? journal : []),
);
addRoute("GET", "/incidents/:id/pins/:id", (_, incidentId, pinId) => {
  const pin = incidents.find((incident) => incident.id === incidentId)?.pins.find((pin) => pin.id === pinId);
  if (!pin) return respondProblem(404, "incident.no_pin", "There is no such pin.");
  return respond({ ...pin, state: pinId === MISSING_PIN_ID ? "gone" : "intact" });
});
