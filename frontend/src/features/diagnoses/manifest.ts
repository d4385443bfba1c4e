import { Stethoscope } from "lucide-react";
import { defineFeature } from "../../lib/manifest";

export const manifest = defineFeature({
  routes: {
    "/diagnoses": { load: () => import("./DiagnosesPage").then((module) => module.DiagnosesPage) },
    "/diagnoses/$diagnosisId": {
      load: () => import("./DiagnosisPage").then((module) => module.DiagnosisPage),
    },
  },
  navigation: [{ to: "/diagnoses", key: "nav.diagnoses", icon: Stethoscope }],
  commands: [
    {
      id: "diagnose",
      key: "diagnose.title",
      icon: Stethoscope,
      permission: "capture.light",
      dialog: "diagnose",
    },
  ],
  dialogs: {
    diagnose: () => import("./DiagnoseDialog").then((module) => module.DiagnoseDialog),
  },
});
