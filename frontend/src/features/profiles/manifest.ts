import { Flame } from "lucide-react";
import { defineFeature } from "../../lib/manifest";
import { prepareProfile } from "./opening/prepareProfile";

export const manifest = defineFeature({
  routes: {
    "/profiles": { load: () => import("./ProfilesPage").then((module) => module.ProfilesPage) },
    "/profiles/$profileId": {
      load: () => import("./ProfilePage").then((module) => module.ProfilePage),
      prepare: prepareProfile,
    },
    "/compare": { load: () => import("./ComparePage").then((module) => module.ComparePage) },
    "/comparisons/$diffId": {
      load: () => import("./ComparisonPage").then((module) => module.ComparisonPage),
    },
  },
  navigation: [{ to: "/profiles", key: "nav.profiles", icon: Flame }],
});
