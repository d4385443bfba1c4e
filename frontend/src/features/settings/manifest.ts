import { Settings } from "lucide-react";
import { defineFeature } from "../../lib/manifest";

export const manifest = defineFeature({
  routes: {
    "/settings": { load: () => import("./SettingsPage").then((module) => module.SettingsPage) },
    "/settings/$part": { load: () => import("./SettingsPage").then((module) => module.SettingsPage) },
  },
  navigation: [{ to: "/settings", key: "nav.settings", icon: Settings }],
});
