import { Stethoscope } from "lucide-react";
import { defineFeature } from "../../lib/manifest";
import { catalogQuery, diagnosisQuery } from "../../lib/queries";
import { prefetchMissing } from "../../lib/requests/prefetch";

export const manifest = defineFeature({
  routes: {
    "/diagnoses": { load: () => import("./DiagnosesPage").then((module) => module.DiagnosesPage) },
    "/diagnoses/$diagnosisId": {
      load: () => import("./DiagnosisPage").then((module) => module.DiagnosisPage),
      prepare: (queries, { diagnosisId = "" }) => {
        prefetchMissing(queries, diagnosisQuery(diagnosisId));
        prefetchMissing(queries, catalogQuery);
      },
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
