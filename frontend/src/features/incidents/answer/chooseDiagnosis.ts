import type { Incident } from "../../../client/models";

type IncidentDiagnosis = Incident["diagnoses"][number];

/** Return the diagnosis to display: a running diagnosis, else the newest with a result, else the newest. */
export const chooseDiagnosis = (newestFirst: readonly IncidentDiagnosis[]): IncidentDiagnosis | undefined =>
  newestFirst.find((item) => item.state === "running") ??
  newestFirst.find((item) => item.state === "done") ??
  newestFirst[0];

/**
 * Return the diagnosis whose harm belongs to accepted causes: the newest with a result from before the first fix was
 * applied, else the newest with a result. A diagnosis after the fix measures what is left of the harm.
 */
export function chooseHarmDiagnosis({
  diagnoses,
  fixes,
}: Pick<Incident, "diagnoses" | "fixes">): IncidentDiagnosis | undefined {
  const ended = diagnoses.filter((item) => item.state === "done");
  const appliedAt = fixes.flatMap((fix) => (fix.applied_at ? [Date.parse(fix.applied_at)] : []));
  const firstAppliedAt = Math.min(...appliedAt);
  return ended.find((item) => Date.parse(item.created_at) < firstAppliedAt) ?? ended[0];
}
