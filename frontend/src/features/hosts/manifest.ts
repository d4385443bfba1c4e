import { Plus, Server } from "lucide-react";
import { defineFeature } from "../../lib/manifest";

export const manifest = defineFeature({
  routes: {
    "/hosts": { load: () => import("./list/HostsPage").then((module) => module.HostsPage) },
    "/hosts/new": { load: () => import("./forms/AddHostPage").then((module) => module.AddHostPage) },
    "/hosts/$hostId": { load: () => import("./page/HostPage").then((module) => module.HostPage) },
  },
  navigation: [{ to: "/hosts", key: "nav.hosts", icon: Server }],
  commands: [{ id: "add", key: "nav.addHost", icon: Plus, permission: "host.add", to: "/hosts/new" }],
});
