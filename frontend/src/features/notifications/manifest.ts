import { Send } from "lucide-react";
import { defineFeature } from "../../lib/manifest";

export const manifest = defineFeature({
  routes: {
    "/notifications": {
      load: () => import("./NotificationsPage").then((module) => module.NotificationsPage),
    },
  },
  navigation: [
    {
      to: "/notifications",
      key: "notifications.title",
      icon: Send,
      group: "oncall",
      permission: "channel.read",
    },
  ],
});
