import { AppliedDialog, FixDialog } from "../fixes/FixDialog";
import { ExportDialog } from "../import-origin/ExportDialog";
import { VerifyFixDialog } from "../verification/VerifyFixDialog";
import { DismissPlaybookDialog } from "./DismissPlaybookDialog";
import { EditDialog } from "./EditDialog";
import { HostsDialog } from "./HostsDialog";
import { HypothesisDialog } from "./HypothesisDialog";
import { MuteDialog } from "./MuteDialog";
import { RejectCauseDialog } from "./RejectCauseDialog";
import { StateDialog } from "./StateDialog";
import type { IncidentDialogProps } from "./types";
import { VerdictDialog } from "./VerdictDialog";
import { WaiveStepDialog } from "./WaiveStepDialog";

const DIALOGS = {
  verdict: VerdictDialog,
  waive: WaiveStepDialog,
  dismiss: DismissPlaybookDialog,
  state: StateDialog,
  fix: FixDialog,
  applied: AppliedDialog,
  verify: VerifyFixDialog,
  reject: RejectCauseDialog,
  mute: MuteDialog,
  hosts: HostsDialog,
  edit: EditDialog,
  hypothesis: HypothesisDialog,
  export: ExportDialog,
} as const;

/** The dialog named in the URL, if any. */
export function IncidentDialogs({ incident, view }: Omit<IncidentDialogProps, "onClose">) {
  if (view.dialog === "") return null;
  const Open = DIALOGS[view.dialog];
  const keepsWhat = view.pane === "fixes";
  return (
    <Open
      incident={incident}
      view={view}
      onClose={() => view.set({ dialog: "", ...(keepsWhat ? {} : { what: "" }) })}
    />
  );
}
