import { BellRing } from "lucide-react";
import { defineFeature } from "../../lib/manifest";

export const manifest = defineFeature({
  routes: {
    "/triggers": { load: () => import("./TriggersPage").then((module) => module.TriggersPage) },
  },
  navigation: [{ to: "/triggers", key: "nav.triggers", icon: BellRing, group: "oncall" }],
});
