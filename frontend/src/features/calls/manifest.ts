import { defineFeature } from "../../lib/manifest";

export const manifest = defineFeature({
  routes: {
    "/runs/$runId/calls": { load: () => import("./CallsPage").then((module) => module.CallsPage) },
  },
});
