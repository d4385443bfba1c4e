/** Findings, rules with their thresholds, and diagnoses. */
import type { Threshold } from "../../src/features/rules/api.ts";
import { COLLECTORS, METRICS, PLANS } from "../captures/catalog.ts";
import { makeId } from "../server/pseudoRandom.ts";
import { addRoute, respond, respondList, respondProblem } from "../server/routes.ts";
import { state } from "../server/state.ts";
import { cancelDiagnosis, findDiagnosis, listDiagnoses, startDiagnosis } from "./diagnosisRecords.ts";
import { createRunFindings, findHostFindings } from "./findings.ts";
import { CAUSES, RULES } from "./knowledge.ts";

addRoute("GET", "/runs/:id/findings", (_, runId) => respond(createRunFindings(runId ?? "")));
addRoute("GET", "/hosts/:id/findings", (_, hostId) => respond(findHostFindings(hostId ?? "")));
addRoute("GET", "/catalog", () =>
  respond({ rules: RULES, causes: CAUSES, metrics: METRICS, collectors: COLLECTORS, plans: PLANS }),
);
addRoute("GET", "/thresholds", () => respond(state.thresholds));
addRoute("PUT", "/thresholds", ({ body }) => {
  const override = {
    label_name: null,
    label_value: null,
    host_id: null,
    ...body,
    id: makeId("threshold", Math.random()),
    default: 1,
    created_at: new Date().toISOString(),
  } as Threshold;
  state.thresholds.push(override);
  return respond(override);
});
addRoute("DELETE", "/thresholds/:id", (_, thresholdId) => {
  state.thresholds = state.thresholds.filter((threshold) => threshold.id !== thresholdId);
  return { status: 204 };
});
addRoute("POST", "/diagnoses", ({ body }) => {
  const started = startDiagnosis(body);
  return started ? respond(started, 201) : respondProblem(404, "host.not_found", "No such host.");
});
addRoute("GET", "/diagnoses", ({ query }) => {
  const host = query.get("host");
  return respondList(
    state.empty ? [] : listDiagnoses().filter((diagnosis) => !host || diagnosis.host.id === host),
  );
});
addRoute("GET", "/diagnoses/:id", (_, diagnosisId) => {
  const diagnosis = findDiagnosis(diagnosisId ?? "");
  return diagnosis ? respond(diagnosis) : respondProblem(404, "diagnosis.not_found", "No such diagnosis.");
});
addRoute("POST", "/diagnoses/:id/cancel", (_, diagnosisId) => respond(cancelDiagnosis(diagnosisId ?? "")));
