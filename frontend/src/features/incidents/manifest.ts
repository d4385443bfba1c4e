import { Siren } from "lucide-react";
import { incidentsQuery } from "../../lib/incidents/incidents";
import { defineFeature } from "../../lib/manifest";
import { catalogQuery } from "../../lib/queries";
import { prefetchMissing } from "../../lib/requests/prefetch";
import { prepareIncident } from "./page/prepareIncident";

export const manifest = defineFeature({
  routes: {
    "/incidents": {
      load: () => import("./list/IncidentsPage").then((module) => module.IncidentsPage),
      prepare: (queries) => {
        prefetchMissing(queries, incidentsQuery);
        prefetchMissing(queries, catalogQuery);
      },
    },
    "/incidents/$incidentId": {
      load: () => import("./page/IncidentPage").then((module) => module.IncidentPage),
      prepare: prepareIncident,
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
