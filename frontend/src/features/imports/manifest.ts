import { FileInput } from "lucide-react";
import { defineFeature } from "../../lib/manifest";

export const manifest = defineFeature({
  routes: {},
  commands: [
    { id: "import", key: "import.title", icon: FileInput, permission: "capture.import", dialog: "import" },
  ],
  dialogs: {
    import: () => import("./ImportDialog").then((module) => module.ImportDialog),
  },
});
