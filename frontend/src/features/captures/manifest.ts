import { Camera } from "lucide-react";
import { defineFeature } from "../../lib/manifest";
import { capturesQuery, catalogQuery } from "../../lib/queries";
import { prefetchMissing } from "../../lib/requests/prefetch";

export const manifest = defineFeature({
  routes: {
    "/captures": {
      load: () => import("./CapturesPage").then((module) => module.CapturesPage),
      prepare: (queries, _, { state }) => {
        if (!state) prefetchMissing(queries, capturesQuery({ state: undefined }));
        prefetchMissing(queries, catalogQuery);
      },
    },
    "/captures/$captureId": { load: () => import("./CapturePage").then((module) => module.CapturePage) },
  },
  navigation: [{ to: "/captures", key: "nav.captures", icon: Camera }],
  commands: [
    { id: "capture", key: "nav.newCapture", icon: Camera, permission: "capture.light", dialog: "capture" },
  ],
  dialogs: {
    capture: () => import("./NewCaptureDialog").then((module) => module.NewCaptureDialog),
  },
});
