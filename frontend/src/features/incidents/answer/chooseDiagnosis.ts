import type { Incident } from "../../../client/models";

type IncidentDiagnosis = Incident["diagnoses"][number];

/** Return the diagnosis to display: a running diagnosis, else the newest with a result, else the newest. */
export const chooseDiagnosis = (newestFirst: readonly IncidentDiagnosis[]): IncidentDiagnosis | undefined =>
  newestFirst.find((item) => item.state === "running") ??
  newestFirst.find((item) => item.state === "done") ??
  newestFirst[0];
