import type { QueryClient } from "@tanstack/react-query";
import { incidentQuery } from "../../../lib/incidents/incidents";
import { catalogQuery, diagnosisQuery } from "../../../lib/queries";
import { prefetchMissing } from "../../../lib/requests/prefetch";
import { chooseDiagnosis, chooseHarmDiagnosis } from "../answer/chooseDiagnosis";

/** Prefetch an incident, and the diagnosis that its answer is from. */
export function prepareIncident(
  queries: QueryClient,
  { incidentId = "" }: Readonly<Record<string, string>>,
): void {
  prefetchMissing(queries, catalogQuery);
  queries.ensureQueryData(incidentQuery(incidentId)).then(
    (incident) => {
      const diagnosis =
        incident.causes.length > 0 ? chooseHarmDiagnosis(incident) : chooseDiagnosis(incident.diagnoses);
      if (diagnosis) prefetchMissing(queries, diagnosisQuery(diagnosis.id));
    },
    () => undefined,
  );
}
