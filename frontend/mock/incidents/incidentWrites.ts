/** All writes of an incident, with their errors. */
import type * as T from "../../src/client/models.ts";
import type {
  Fix,
  IncidentHypothesis,
  IncidentState,
  Symptom,
  Verification,
} from "../../src/features/incidents/api.ts";
import * as live from "../captures/live.ts";
import { HOSTS } from "../dataset.ts";
import { makeId } from "../server/pseudoRandom.ts";
import { addRoute, respond, respondProblem } from "../server/routes.ts";
import { listOffers } from "./incidentParts.ts";
import { addJournalEntry, addWriteRoute, currentActor } from "./incidents.ts";

addWriteRoute("PATCH", "", (incident, { body }) => {
  const to = body.state as IncidentState | undefined;
  if (to === "resolved" && incident.gaps.length > 0)
    return respondProblem(409, "incident.steps_open", "open", {
      count: incident.gaps.length,
      steps: incident.gaps.join(", "),
    });
  if (to) {
    addJournalEntry(incident, "state_changed", { previous: incident.state, to }, String(body.reason ?? ""));
    incident.state = to;
  }
  if (body.owner_id !== undefined) {
    const owner = [currentActor(), ...incident.people].find((person) => person.id === body.owner_id) ?? null;
    incident.owner = owner && { id: owner.id, name: owner.name };
    addJournalEntry(incident, owner ? "owner_set" : "owner_removed", owner ? { owner: owner.name } : {});
  }
  if (body.title) incident.title = String(body.title);
  if (body.symptom) incident.symptom = body.symptom as Symptom;
  return undefined;
});
addWriteRoute("POST", "/waivers", (incident, { body }) => {
  if (String(body.reason).length < 3) return respondProblem(422, "incident.waiver_needs_reason", "reason");
  const steps = body.steps as string[];
  incident.gaps = incident.gaps.filter((key) => !steps.includes(key));
  for (const step of incident.steps)
    if (steps.includes(step.key)) step.waived = { reason: String(body.reason), by: currentActor() };
  addJournalEntry(
    incident,
    "steps_waived",
    { steps: steps.join(", "), count: steps.length },
    String(body.reason),
  );
  return undefined;
});
addWriteRoute("PATCH", "/playbooks/:id", (incident, { body }, book) => {
  const playbook = incident.playbooks.find((each) => each.id === book);
  if (!playbook) return respondProblem(404, "playbook.not_found", "none");
  const reason = String(body.reason ?? "");
  const open = incident.gaps.filter((key) => key.startsWith(`${book}/`));
  playbook.state = body.dismissed ? "dismissed" : "active";
  playbook.dismissed = body.dismissed ? { reason, by: currentActor() } : null;
  if (body.dismissed) incident.gaps = incident.gaps.filter((key) => !open.includes(key));
  addJournalEntry(
    incident,
    body.dismissed ? "playbook_dismissed" : "playbook_restored",
    { playbook: playbook.id, count: open.length },
    reason,
  );
  return undefined;
});
addWriteRoute("POST", "/verdicts", (incident, { body }) => {
  const pins = body.pins as string[];
  if (pins.length === 0) return respondProblem(422, "incident.verdict_needs_pin", "pin");
  const answer = {
    verdict: body.verdict as "supports" | "refutes" | "inconclusive",
    note: String(body.note ?? ""),
  };
  for (const step of incident.steps)
    if (step.key === body.step) {
      step.verdict = answer.verdict;
      for (const host of step.hosts)
        if (body.host_id === null || host.host_id === body.host_id)
          Object.assign(host, {
            verdict: answer.verdict,
            by: "person",
            pins,
            person: {
              ...answer,
              id: makeId("verdict", incident.version),
              by: currentActor(),
              at: new Date().toISOString(),
              pins,
            },
          });
    }
  incident.gaps = incident.gaps.filter((key) => key !== body.step);
  addJournalEntry(
    incident,
    "verdict_added",
    { step: String(body.step), verdict: answer.verdict },
    answer.note,
  );
  return undefined;
});
addWriteRoute("POST", "/verdicts/:id/withdraw", (incident) => {
  addJournalEntry(incident, "verdict_withdrawn", { step: "", verdict: "", host: "" });
  return undefined;
});
addWriteRoute("POST", "/pins", (incident, { body }) => {
  const { version: _, ...answer } = body;
  const pinId = makeId("pin", incident.id, incident.version);
  const snapshot = { collected: true, lines: [{ number: 1, text: "cpu0 9812 44 1 0 0" }] };
  incident.pins.push({
    ...(answer as unknown as T.Pin),
    id: pinId,
    snapshot,
    artifact: null,
    by: currentActor(),
    created_at: new Date().toISOString(),
  });
  addJournalEntry(incident, "pin_added", { what: String(body.kind), step: String(body.step ?? "") });
  return pinId;
});
addWriteRoute("POST", "/notes", (incident, { body }) => {
  addJournalEntry(incident, "note_added", {}, String(body.note));
  return undefined;
});
addWriteRoute("PATCH", "/hypotheses/:id", (incident, { body }, hypothesisId) => {
  const playbook = incident.hypotheses.find((each) => each.id === hypothesisId);
  if (!playbook) return respondProblem(404, "incident.no_hypothesis", "none");
  if (body.state === "confirmed" && !incident.fixes.some((fix) => fix.state === "verified"))
    return respondProblem(409, "incident.confirm_needs_comparison", "comparison");
  playbook.state = body.state as IncidentHypothesis["state"];
  incident.causes = incident.hypotheses
    .filter((each) => each.state === "likely" || each.state === "confirmed")
    .map((each) => ({ hypothesis: each.key, cause: each.cause, confidence: each.state as "likely" }));
  addJournalEntry(incident, "hypothesis_decided", { hypothesis: playbook.key, to: playbook.state });
  return undefined;
});
addWriteRoute("POST", "/cause-confirmations", (incident, { body }) => {
  const hypothesis = incident.hypotheses.find((each) => each.cause === body.cause);
  if (!hypothesis) return respondProblem(422, "incident.no_cause", "none", { cause: String(body.cause) });
  hypothesis.state = "likely";
  incident.causes = [{ hypothesis: hypothesis.key, cause: hypothesis.cause, confidence: "likely" }];
  addJournalEntry(incident, "hypothesis_decided", { hypothesis: hypothesis.key, to: "likely" });
  return undefined;
});
addWriteRoute("POST", "/step-runs", (incident, { body }) => {
  const host = HOSTS.find((each) => each.id === body.host_id);
  if (!host) return respondProblem(422, "incident.no_host", "none");
  const capture = live.startCapture([host], "sched", 5, `step ${String(body.step)}`);
  incident.runs.push({
    run_id: capture.runs[0]?.id ?? "",
    capture_id: capture.id,
    number: capture.number,
    host_id: host.id,
    role: "evidence",
    plan: "sched",
    from: null,
    to: null,
    state: "queued",
    step: String(body.step),
    fix_id: null,
  });
  addJournalEntry(incident, "step_started", { step: String(body.step), host: host.name });
  return capture.id;
});
addWriteRoute("POST", "/fixes", (incident, { body }) => {
  const fixId = makeId("fix", incident.id, incident.version);
  const { version: _, host_ids, ...answer } = body;
  incident.fixes.push({
    ...(answer as unknown as Fix),
    id: fixId,
    hosts: host_ids as string[],
    state: "planned",
    applied_at: null,
    by: currentActor(),
    created_at: new Date().toISOString(),
    verifications: [],
    offers: listOffers(false),
  });
  addJournalEntry(incident, "fix_recorded", { what: String(body.what) });
  return fixId;
});
addWriteRoute("PATCH", "/fixes/:id", (incident, { body }, fixId) => {
  for (const fix of incident.fixes)
    if (fix.id === fixId) {
      fix.state = body.state as Fix["state"];
      fix.applied_at = (body.applied_at as string | undefined) ?? fix.applied_at;
      fix.offers = listOffers(fix.state === "applied");
    }
  addJournalEntry(incident, body.state === "reverted" ? "fix_reverted" : "fix_applied", { what: "" });
  return undefined;
});
addWriteRoute("POST", "/fixes/:id/verify", (incident, { body }, fixId) => {
  for (const fix of incident.fixes)
    if (fix.id === fixId)
      fix.verifications.push({
        id: makeId("verification", incident.version),
        kind: body.kind as Verification["kind"],
        primary: null,
        minimum_change: Number(body.minimum_change),
        before: [],
        captures_before: [],
        after: [],
        control_host_id: (body.control_host_id as string | undefined) ?? null,
        state: fix.state === "planned" ? "before" : "collecting",
        result: null,
        failure: null,
        requested_by: currentActor(),
        created_at: new Date().toISOString(),
        ended_at: null,
      });
  addJournalEntry(incident, "verification_started", { what: "", how: String(body.kind) });
  return undefined;
});
addWriteRoute("POST", "/autopilot", (incident, { body }) => {
  incident.autopilot = {
    state: "running",
    tier: body.tier as "light",
    by: currentActor(),
    capture_id: null,
    step: null,
    reason: null,
    capture_count: 0,
  };
  addJournalEntry(incident, "autopilot_started", { tier: String(body.tier) });
  return undefined;
});
addWriteRoute("DELETE", "/autopilot", (incident) => {
  if (incident.autopilot) incident.autopilot.state = "stopped";
  addJournalEntry(incident, "autopilot_stopped");
  return undefined;
});
addWriteRoute("POST", "/cause-rejections", (incident, { body }) => {
  incident.rejected_causes = [
    ...incident.rejected_causes.filter((each) => each.cause !== body.cause),
    {
      cause: String(body.cause),
      true_cause: (body.true_cause as string | null) ?? null,
      note: String(body.note ?? ""),
      pins: (body.pins as string[]) ?? [],
      by: currentActor(),
    },
  ];
  addJournalEntry(incident, "cause_rejected");
  return undefined;
});
for (const [path, kind] of [
  ["/hosts", "hosts_added"],
  ["/playbooks", "playbooks_added"],
  ["/hypotheses", "hypothesis_added"],
] as const)
  addWriteRoute("POST", path, (incident) => {
    addJournalEntry(incident, kind);
    return undefined;
  });
addRoute("GET", "/mutes", () => respond([]));
addRoute("POST", "/mutes", () => respond({}, 201));
