import { GitCompareArrows } from "lucide-react";
import { defineFeature } from "../../lib/manifest";
import { prepareWhatChanged } from "./prepareWhatChanged";

export const manifest = defineFeature({
  routes: {
    "/what-changed": {
      load: () => import("./WhatChangedPage").then((module) => module.WhatChangedPage),
      prepare: prepareWhatChanged,
    },
  },
  commands: [{ id: "what-changed", key: "whatChanged.title", icon: GitCompareArrows, to: "/what-changed" }],
});
