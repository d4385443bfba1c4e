import { Grid3x3 } from "lucide-react";
import { defineFeature } from "../../lib/manifest";
import { catalogQuery, fleetUseQuery } from "../../lib/queries";
import { prefetchMissing } from "../../lib/requests/prefetch";

export const manifest = defineFeature({
  routes: {
    "/fleet": {
      load: () => import("./FleetPage").then((module) => module.FleetPage),
      prepare: (queries, _, { view, has }) => {
        if (!view && !has) prefetchMissing(queries, fleetUseQuery(""));
        prefetchMissing(queries, catalogQuery);
      },
    },
  },
  navigation: [{ to: "/fleet", key: "nav.fleet", icon: Grid3x3 }],
});
