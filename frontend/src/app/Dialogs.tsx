import { useNavigate, useSearch } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import type { Search } from "../core/search";
import { DIALOG_KEYS } from "../lib/dialogs";
import { useProofRequest } from "../lib/proof";

const NewCapture = lazy(() =>
  import("../features/captures/NewCaptureDialog").then((m) => ({ default: m.NewCaptureDialog })),
);
const Import = lazy(() =>
  import("../features/imports/ImportDialog").then((m) => ({ default: m.ImportDialog })),
);

const Diagnose = lazy(() =>
  import("../features/diagnoses/DiagnoseDialog").then((m) => ({ default: m.DiagnoseDialog })),
);

const Arm = lazy(() => import("../features/standbys/ArmDialog").then((m) => ({ default: m.ArmDialog })));

const NewIncident = lazy(() =>
  import("../features/incidents/NewIncidentDialog").then((m) => ({ default: m.NewIncidentDialog })),
);

const Annotate = lazy(() =>
  import("../features/events/AnnotateDialog").then((m) => ({ default: m.AnnotateDialog })),
);

const Proof = lazy(() => import("../features/session/ProofDialog").then((m) => ({ default: m.ProofDialog })));

/** Dialogs that any screen may open; they stand in the address (`dialog=…`) and close with Back. */
export function Dialogs() {
  const search = useSearch({ strict: false }) as Search;
  const navigate = useNavigate();
  const proof = useProofRequest();
  const close = () =>
    void navigate({
      to: ".",
      search: ((before: Search) => {
        const next = { ...before };
        for (const key of DIALOG_KEYS) delete next[key];
        return next;
      }) as never,
      resetScroll: false,
    });
  return (
    <Suspense>
      {proof !== null && <Proof />}
      {search.dialog === "capture" && <NewCapture onClose={close} />}
      {search.dialog === "diagnose" && <Diagnose onClose={close} />}
      {search.dialog === "arm" && <Arm onClose={close} />}
      {search.dialog === "incident" && <NewIncident onClose={close} />}
      {search.dialog === "annotate" && <Annotate onClose={close} />}
      {search.dialog === "import" && <Import onClose={close} />}
    </Suspense>
  );
}
