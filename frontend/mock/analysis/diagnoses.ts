/** Findings, rules with their thresholds, and diagnoses. */
import type { Threshold } from "../../src/features/rules/api.ts";
import { id } from "../server/noise.ts";
import { list, ok, problem, route } from "../server/routes.ts";
import { state } from "../server/state.ts";
import { allDiagnoses, cancelDiagnosis, readDiagnosis, startDiagnosis } from "./diagnosisRecords.ts";
import { hostFindings, runFindings } from "./findings.ts";
import { CAUSES, RULES } from "./knowledge.ts";

route("GET", "/runs/:id/findings", (_, runId) => ok(runFindings(runId ?? "")));
route("GET", "/hosts/:id/findings", (_, hostId) => ok(hostFindings(hostId ?? "")));
route("GET", "/rules", () => ok(RULES));
route("GET", "/causes", () => ok(CAUSES));
route("GET", "/thresholds", () => ok(state.thresholds));
route("PUT", "/thresholds", ({ body }) => {
  const override = {
    label_name: null,
    label_value: null,
    host_id: null,
    ...body,
    id: id("threshold", Math.random()),
    default: 1,
    created_at: new Date().toISOString(),
  } as Threshold;
  state.thresholds.push(override);
  return ok(override);
});
route("DELETE", "/thresholds/:id", (_, thresholdId) => {
  state.thresholds = state.thresholds.filter((threshold) => threshold.id !== thresholdId);
  return { status: 204 };
});
route("POST", "/diagnoses", ({ body }) => {
  const started = startDiagnosis(body);
  return started ? ok(started, 201) : problem(404, "host.not_found", "No such host.");
});
route("GET", "/diagnoses", ({ query }) => {
  const host = query.get("host");
  return list(state.empty ? [] : allDiagnoses().filter((diagnosis) => !host || diagnosis.host.id === host));
});
route("GET", "/diagnoses/:id", (_, diagnosisId) => {
  const diagnosis = readDiagnosis(diagnosisId ?? "");
  return diagnosis ? ok(diagnosis) : problem(404, "diagnosis.not_found", "No such diagnosis.");
});
route("POST", "/diagnoses/:id/cancel", (_, diagnosisId) => ok(cancelDiagnosis(diagnosisId ?? "")));
