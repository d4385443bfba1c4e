import { defineFeature } from "../../lib/manifest";

export const manifest = defineFeature({
  routes: {
    "/runs/$runId": { load: () => import("./RunPage").then((module) => module.RunPage) },
    "/artifacts/$artifactId": { load: () => import("./ArtifactPage").then((module) => module.ArtifactPage) },
  },
});
