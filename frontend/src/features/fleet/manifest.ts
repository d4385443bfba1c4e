import { Grid3x3 } from "lucide-react";
import { defineFeature } from "../../lib/manifest";

export const manifest = defineFeature({
  routes: {
    "/fleet": { load: () => import("./FleetPage").then((module) => module.FleetPage) },
  },
  navigation: [{ to: "/fleet", key: "nav.fleet", icon: Grid3x3 }],
});
