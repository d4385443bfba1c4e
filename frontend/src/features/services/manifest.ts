import { Boxes } from "lucide-react";
import { defineFeature } from "../../lib/manifest";

export const manifest = defineFeature({
  routes: {
    "/services": { load: () => import("./ServicesPage").then((module) => module.ServicesPage) },
  },
  navigation: [{ to: "/services", key: "nav.services", icon: Boxes }],
});
