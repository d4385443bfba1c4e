import { defineFeature } from "../../lib/manifest";

export const manifest = defineFeature({
  routes: {
    "/incidents/$incidentId/reports": {
      load: () => import("./ReportsPage").then((module) => module.ReportsPage),
    },
    "/reports/$reportId": { load: () => import("./ReportPage").then((module) => module.ReportPage) },
  },
});
