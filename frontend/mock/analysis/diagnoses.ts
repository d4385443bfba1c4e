/** What rules found, the rules themselves with their thresholds, and diagnoses. */
import type * as T from "../src/client/types.ts";
import { allDiagnoses, ask, cancelDiagnosis, hostFindings, readDiagnosis, runFindings } from "./findings.ts";
import { CAUSES, RULES } from "./knowledge.ts";
import { id } from "./noise.ts";
import { list, ok, problem, route } from "./routes.ts";
import { state } from "./state.ts";

route("GET", "/runs/:id/findings", (_, runId) => ok(runFindings(runId ?? "")));
route("GET", "/hosts/:id/findings", (_, hostId) => ok(hostFindings(hostId ?? "")));
route("GET", "/rules", () => ok(RULES));
route("GET", "/causes", () => ok(CAUSES));
route("GET", "/thresholds", () => ok(state.thresholds));
route("PUT", "/thresholds", ({ body }) => {
  const made = {
    label_name: null,
    label_value: null,
    host_id: null,
    ...body,
    id: id("threshold", Math.random()),
    default: 1,
    created_at: new Date().toISOString(),
  } as T.Threshold;
  state.thresholds.push(made);
  return ok(made);
});
route("DELETE", "/thresholds/:id", (_, thresholdId) => {
  state.thresholds = state.thresholds.filter((one) => one.id !== thresholdId);
  return { status: 204 };
});
route("POST", "/diagnoses", ({ body }) => {
  const made = ask(body);
  return made ? ok(made, 201) : problem(404, "host.not_found", "No such host.");
});
route("GET", "/diagnoses", ({ query }) => {
  const host = query.get("host");
  return list(state.empty ? [] : allDiagnoses().filter((one) => !host || one.host.id === host));
});
route("GET", "/diagnoses/:id", (_, diagnosisId) => {
  const found = readDiagnosis(diagnosisId ?? "");
  return found ? ok(found) : problem(404, "diagnosis.not_found", "No such diagnosis.");
});
route("POST", "/diagnoses/:id/cancel", (_, diagnosisId) => ok(cancelDiagnosis(diagnosisId ?? "")));
