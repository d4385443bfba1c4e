import { GitCompareArrows } from "lucide-react";
import { defineFeature } from "../../lib/manifest";

export const manifest = defineFeature({
  routes: {
    "/what-changed": {
      load: () => import("./WhatChangedPage").then((module) => module.WhatChangedPage),
    },
  },
  commands: [{ id: "what-changed", key: "whatChanged.title", icon: GitCompareArrows, to: "/what-changed" }],
});
