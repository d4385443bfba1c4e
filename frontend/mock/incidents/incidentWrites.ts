/** Every way to change an incident, each with its refusals. */
import type * as I from "../src/client/incidents.ts";
import { actor, enter, write } from "./incidents.ts";
import * as live from "./live.ts";
import { id } from "./noise.ts";
import { ok, problem, route } from "./routes.ts";
import { HOSTS } from "./world.ts";

write("PATCH", "", (one, { body }) => {
  const to = body.state as I.IncidentState | undefined;
  if (to === "resolved" && one.gaps.length > 0)
    return problem(409, "incident.steps_open", "open", {
      count: one.gaps.length,
      steps: one.gaps.join(", "),
    });
  if (to) {
    enter(one, "state", { was: one.state, to }, String(body.reason ?? ""));
    one.state = to;
  }
  if (body.title) one.title = String(body.title);
  if (body.symptom) one.symptom = body.symptom as I.Symptom;
  return undefined;
});
write("POST", "/waivers", (one, { body }) => {
  if (String(body.reason).length < 3) return problem(422, "incident.waiver_needs_reason", "reason");
  const steps = body.steps as string[];
  one.gaps = one.gaps.filter((key) => !steps.includes(key));
  for (const step of one.steps)
    if (steps.includes(step.key)) step.waived = { reason: String(body.reason), by: actor() };
  enter(one, "waivers", { steps: steps.join(", "), count: steps.length }, String(body.reason));
  return undefined;
});
write("PATCH", "/playbooks/:id", (one, { body }, book) => {
  const found = one.playbooks.find((each) => each.id === book);
  if (!found) return problem(404, "playbook.not_found", "none");
  const reason = String(body.reason ?? "");
  const open = one.gaps.filter((key) => key.startsWith(`${book}/`));
  found.play = body.aside ? "aside" : "asked";
  found.aside = body.aside ? { reason, by: actor() } : null;
  if (body.aside) one.gaps = one.gaps.filter((key) => !open.includes(key));
  enter(one, body.aside ? "aside" : "taken_up", { playbook: found.id, count: open.length }, reason);
  return undefined;
});
write("POST", "/verdicts", (one, { body }) => {
  const pins = body.pins as string[];
  if (pins.length === 0) return problem(422, "incident.verdict_needs_pin", "pin");
  const given = { verdict: body.verdict as I.SettledVerdict, note: String(body.note ?? "") };
  for (const step of one.steps)
    if (step.key === body.step) {
      step.verdict = given.verdict;
      for (const host of step.hosts)
        if (body.host_id === null || host.host_id === body.host_id)
          Object.assign(host, {
            verdict: given.verdict,
            by: "person",
            pins,
            person: {
              ...given,
              id: id("verdict", one.version),
              by: actor(),
              at: new Date().toISOString(),
              pins,
            },
          });
    }
  one.gaps = one.gaps.filter((key) => key !== body.step);
  enter(one, "verdict", { step: String(body.step), verdict: given.verdict }, given.note);
  return undefined;
});
write("POST", "/verdicts/:id/withdraw", (one) => {
  enter(one, "withdrawn");
  return undefined;
});
write("POST", "/pins", (one, { body }) => {
  const { version: _, ...given } = body;
  const made = id("pin", one.id, one.version);
  const said = { collected: true, lines: [{ n: 1, text: "cpu0 9812 44 1 0 0" }] };
  one.pins.push({
    ...(given as unknown as I.Pin),
    id: made,
    said,
    artifact: null,
    by: actor(),
    created_at: new Date().toISOString(),
  });
  enter(one, "pin", { what: String(body.kind), step: String(body.step ?? "") });
  return made;
});
write("POST", "/notes", (one, { body }) => {
  enter(one, "note", {}, String(body.note));
  return undefined;
});
write("PATCH", "/hypotheses/:id", (one, { body }, hypothesisId) => {
  const found = one.hypotheses.find((each) => each.id === hypothesisId);
  if (!found) return problem(404, "incident.no_hypothesis", "none");
  if (body.state === "confirmed" && !one.fixes.some((fix) => fix.state === "verified"))
    return problem(409, "incident.confirm_needs_comparison", "comparison");
  found.state = body.state as I.IncidentHypothesis["state"];
  one.causes = one.hypotheses
    .filter((each) => each.state === "likely" || each.state === "confirmed")
    .map((each) => ({ hypothesis: each.key, cause: each.cause, confidence: each.state as "likely" }));
  enter(one, "decided", { hypothesis: found.key, to: found.state });
  return undefined;
});
write("POST", "/step", (one, { body }) => {
  const host = HOSTS.find((each) => each.id === body.host_id);
  if (!host) return problem(422, "incident.no_host", "none");
  const capture = live.begin([host], "sched", 5, `step ${String(body.step)}`);
  one.runs.push({
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
  enter(one, "step", { step: String(body.step), host: host.name });
  return capture.id;
});
write("POST", "/fixes", (one, { body }) => {
  const made = id("fix", one.id, one.version);
  const { version: _, host_ids, ...given } = body;
  one.fixes.push({
    ...(given as unknown as I.Fix),
    id: made,
    hosts: host_ids as string[],
    state: "planned",
    applied_at: null,
    by: actor(),
    created_at: new Date().toISOString(),
    verifications: [],
  });
  enter(one, "fix", { what: String(body.what) });
  return made;
});
write("PATCH", "/fixes/:id", (one, { body }, fixId) => {
  for (const fix of one.fixes)
    if (fix.id === fixId) {
      fix.state = body.state as I.FixState;
      fix.applied_at = (body.applied_at as string | undefined) ?? fix.applied_at;
    }
  enter(one, body.state === "reverted" ? "fix_reverted" : "fix_applied", { what: "", at: "" });
  return undefined;
});
write("POST", "/fixes/:id/verify", (one, { body }, fixId) => {
  for (const fix of one.fixes)
    if (fix.id === fixId)
      fix.verifications.push({
        id: id("verification", one.version),
        kind: body.kind as I.Verification["kind"],
        primary: null,
        bar: Number(body.bar),
        before: [],
        made_before: [],
        after: [],
        control_host_id: (body.control_host_id as string | undefined) ?? null,
        state: fix.state === "planned" ? "before" : "collecting",
        result: null,
        failure: null,
        requested_by: actor(),
        created_at: new Date().toISOString(),
        ended_at: null,
      });
  enter(one, "verify", { what: "", how: String(body.kind) });
  return undefined;
});
write("POST", "/autopilot", (one, { body }) => {
  one.autopilot = {
    state: "running",
    tier: body.tier as "light",
    by: actor(),
    capture_id: null,
    step: null,
    reason: null,
  };
  enter(one, "autopilot");
  return undefined;
});
write("DELETE", "/autopilot", (one) => {
  if (one.autopilot) one.autopilot.state = "stopped";
  enter(one, "autopilot_stopped");
  return undefined;
});
write("POST", "/wrong", (one, { body }) => {
  one.wrong = [
    ...one.wrong.filter((each) => each.cause !== body.cause),
    {
      cause: String(body.cause),
      true_cause: (body.true_cause as string | null) ?? null,
      note: String(body.note ?? ""),
      pins: (body.pins as string[]) ?? [],
      by: actor(),
    },
  ];
  enter(one, "wrong");
  return undefined;
});
for (const path of ["/hosts", "/playbooks", "/hypotheses"])
  write("POST", path, (one) => {
    enter(one, path.slice(1));
    return undefined;
  });
route("GET", "/mutes", () => ok([]));
route("POST", "/mutes", () => ok({}, 201));
