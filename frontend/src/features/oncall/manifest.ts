import { PhoneCall } from "lucide-react";
import { defineFeature } from "../../lib/manifest";

export const manifest = defineFeature({
  routes: {
    "/oncall": { load: () => import("./OnCallPage").then((module) => module.OnCallPage) },
  },
  navigation: [{ to: "/oncall", key: "oncall.title", icon: PhoneCall, group: "oncall" }],
});
