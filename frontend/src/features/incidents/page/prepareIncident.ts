import type { QueryClient } from "@tanstack/react-query";
import { findMessageGroup } from "../../../i18n/sources";
import { incidentQuery } from "../../../lib/incidents/incidents";
import { catalogQuery, diagnosisQuery } from "../../../lib/queries";
import { prefetchMissing } from "../../../lib/requests/prefetch";
import { loadMessageTexts } from "../../../lib/text/catalog";
import { chooseDiagnosis, chooseHarmDiagnosis } from "../answer/chooseDiagnosis";

/** Key of one of the reasons of a next step. */
const NEXT_STEP_KEY = "next.settles";

/** Prefetch an incident, the texts of its next step, and the diagnosis that its answer is from. */
export function prepareIncident(
  queries: QueryClient,
  { incidentId = "" }: Readonly<Record<string, string>>,
): void {
  prefetchMissing(queries, catalogQuery);
  // The reason of the next step is a message. If its text arrived after the page, it would move the chain.
  void loadMessageTexts(findMessageGroup(NEXT_STEP_KEY)).catch(() => undefined);
  queries.ensureQueryData(incidentQuery(incidentId)).then(
    (incident) => {
      const diagnosis =
        incident.causes.length > 0 ? chooseHarmDiagnosis(incident) : chooseDiagnosis(incident.diagnoses);
      if (diagnosis) prefetchMissing(queries, diagnosisQuery(diagnosis.id));
    },
    () => undefined,
  );
}
