import { BookOpen } from "lucide-react";
import { defineFeature } from "../../lib/manifest";

export const manifest = defineFeature({
  routes: {
    "/playbooks": { load: () => import("./PlaybooksPage").then((module) => module.PlaybooksPage) },
  },
  navigation: [{ to: "/playbooks", key: "nav.playbooks", icon: BookOpen, group: "library" }],
});
