import { defineFeature } from "../../lib/manifest";
import { capturesQuery, catalogQuery } from "../../lib/queries";
import { prefetchMissing } from "../../lib/requests/prefetch";

export const manifest = defineFeature({
  routes: {
    "/": {
      load: () => import("./HomePage").then((module) => module.HomePage),
      prepare: (queries) => {
        prefetchMissing(queries, capturesQuery({}, 20));
        prefetchMissing(queries, catalogQuery);
      },
    },
  },
});
