import { Flag } from "lucide-react";
import { defineFeature } from "../../lib/manifest";

export const manifest = defineFeature({
  routes: {
    "/events": { load: () => import("./EventsPage").then((module) => module.EventsPage) },
  },
  navigation: [{ to: "/events", key: "events.title", icon: Flag, group: "oncall" }],
  commands: [
    {
      id: "report-event",
      key: "events.report",
      icon: Flag,
      permission: "event.report",
      dialog: "report-event",
    },
  ],
  dialogs: {
    "report-event": () => import("./ReportEventDialog").then((module) => module.ReportEventDialog),
  },
});
