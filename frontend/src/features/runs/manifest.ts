import { defineFeature } from "../../lib/manifest";
import { catalogQuery, runFindingsQuery, runQuery } from "../../lib/queries";
import { prefetchMissing } from "../../lib/requests/prefetch";

export const manifest = defineFeature({
  routes: {
    "/runs/$runId": {
      load: () => import("./RunPage").then((module) => module.RunPage),
      prepare: (queries, { runId = "" }, { tab }) => {
        prefetchMissing(queries, runQuery(runId));
        if (!tab) prefetchMissing(queries, runFindingsQuery(runId));
        prefetchMissing(queries, catalogQuery);
      },
    },
    "/artifacts/$artifactId": { load: () => import("./ArtifactPage").then((module) => module.ArtifactPage) },
  },
});
