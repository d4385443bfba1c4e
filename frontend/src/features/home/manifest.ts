import { defineFeature } from "../../lib/manifest";

export const manifest = defineFeature({
  routes: {
    "/": { load: () => import("./HomePage").then((module) => module.HomePage) },
  },
});
