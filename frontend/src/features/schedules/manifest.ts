import { CalendarClock } from "lucide-react";
import { defineFeature } from "../../lib/manifest";

export const manifest = defineFeature({
  routes: {
    "/schedules": { load: () => import("./SchedulesPage").then((module) => module.SchedulesPage) },
  },
  navigation: [{ to: "/schedules", key: "nav.schedules", icon: CalendarClock, group: "oncall" }],
});
