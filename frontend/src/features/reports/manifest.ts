import { incidentQuery } from "../../lib/incidents/incidents";
import { reportQuery, reportsQuery } from "../../lib/incidents/reports";
import { defineFeature } from "../../lib/manifest";
import { catalogQuery } from "../../lib/queries";
import { prefetchMissing } from "../../lib/requests/prefetch";

export const manifest = defineFeature({
  routes: {
    "/incidents/$incidentId/reports": {
      load: () => import("./ReportsPage").then((module) => module.ReportsPage),
      prepare: (queries, { incidentId = "" }) => {
        prefetchMissing(queries, incidentQuery(incidentId));
        prefetchMissing(queries, reportsQuery(incidentId));
      },
    },
    "/reports/$reportId": {
      load: () => import("./ReportPage").then((module) => module.ReportPage),
      prepare: (queries, { reportId = "" }) => {
        prefetchMissing(queries, catalogQuery);
        queries.ensureQueryData(reportQuery(reportId)).then(
          (report) => prefetchMissing(queries, incidentQuery(report.incident_id)),
          () => undefined,
        );
      },
    },
  },
});
