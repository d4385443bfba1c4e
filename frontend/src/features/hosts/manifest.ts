import { Plus, Server } from "lucide-react";
import { defineFeature } from "../../lib/manifest";
import {
  capturesQuery,
  catalogQuery,
  hostFindingsQuery,
  hostQuery,
  hostsQuery,
  overviewQuery,
  preflightQuery,
} from "../../lib/queries";
import { prefetchMissing } from "../../lib/requests/prefetch";

export const manifest = defineFeature({
  routes: {
    "/hosts": {
      load: () => import("./list/HostsPage").then((module) => module.HostsPage),
      prepare: (queries) => prefetchMissing(queries, hostsQuery()),
    },
    "/hosts/new": { load: () => import("./forms/AddHostPage").then((module) => module.AddHostPage) },
    "/hosts/$hostId": {
      load: () => import("./page/HostPage").then((module) => module.HostPage),
      prepare: (queries, { hostId = "" }) => {
        prefetchMissing(queries, hostQuery(hostId));
        prefetchMissing(queries, hostFindingsQuery(hostId));
        prefetchMissing(queries, overviewQuery(hostId));
        prefetchMissing(queries, catalogQuery);
        prefetchMissing(queries, capturesQuery({ host: hostId }, 20));
        prefetchMissing(queries, preflightQuery(hostId));
      },
    },
  },
  navigation: [{ to: "/hosts", key: "nav.hosts", icon: Server }],
  commands: [{ id: "add", key: "nav.addHost", icon: Plus, permission: "host.add", to: "/hosts/new" }],
});
