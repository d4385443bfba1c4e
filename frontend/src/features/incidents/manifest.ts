import { Siren } from "lucide-react";
import { defineFeature } from "../../lib/manifest";

export const manifest = defineFeature({
  routes: {
    "/incidents": { load: () => import("./list/IncidentsPage").then((module) => module.IncidentsPage) },
    "/incidents/$incidentId": {
      load: () => import("./page/IncidentPage").then((module) => module.IncidentPage),
    },
  },
  navigation: [{ to: "/incidents", key: "nav.incidents", icon: Siren }],
  commands: [
    {
      id: "incident",
      key: "incidents.new.title",
      icon: Siren,
      permission: "incident.edit",
      dialog: "incident",
    },
  ],
  dialogs: {
    incident: () => import("./list/NewIncidentDialog").then((module) => module.NewIncidentDialog),
  },
});
