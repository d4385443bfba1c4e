import { Hourglass } from "lucide-react";
import { defineFeature } from "../../lib/manifest";

export const manifest = defineFeature({
  routes: {},
  commands: [
    { id: "arm", key: "watchers.new", icon: Hourglass, permission: "watcher.conditional", dialog: "arm" },
    { id: "watchers", key: "watchers.title", icon: Hourglass, to: "/triggers", search: { part: "watchers" } },
  ],
  dialogs: {
    arm: () => import("./CreateWatcherDialog").then((module) => module.CreateWatcherDialog),
  },
});
