import { Ruler } from "lucide-react";
import { defineFeature } from "../../lib/manifest";

export const manifest = defineFeature({
  routes: {
    "/rules": { load: () => import("./RulesPage").then((module) => module.RulesPage) },
  },
  navigation: [{ to: "/rules", key: "nav.rules", icon: Ruler, group: "library" }],
});
