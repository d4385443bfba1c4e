import type { Incident } from "../../../client/models";

type IncidentDiagnosis = Incident["diagnoses"][number];

/** The diagnosis whose state or answer is displayed: one that runs, else the newest with an answer, else the newest. */
export const chooseDiagnosis = (newestFirst: readonly IncidentDiagnosis[]): IncidentDiagnosis | undefined =>
  newestFirst.find((item) => item.state === "running") ??
  newestFirst.find((item) => item.state === "done") ??
  newestFirst[0];
