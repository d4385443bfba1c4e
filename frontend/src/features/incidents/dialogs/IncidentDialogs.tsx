import type { Incident } from "../../client/incidents";
import { AsideDialog } from "./Aside";
import { EditDialog } from "./EditDialog";
import { ExportDialog } from "./ExportDialog";
import { AppliedDialog, FixDialog } from "./FixDialog";
import { HostsDialog } from "./HostsDialog";
import { HypothesisDialog } from "./HypothesisDialog";
import { MuteDialog } from "./MuteDialog";
import { StateDialog } from "./StateDialog";
import { VerdictDialog } from "./VerdictDialog";
import { VerifyDialog } from "./VerifyDialog";
import type { IncidentView } from "./view";
import { WaiveDialog } from "./Waive";
import { WrongDialog } from "./WrongDialog";

export interface ActProps {
  incident: Incident;
  view: IncidentView;
  onClose: () => void;
}

const DIALOGS = {
  verdict: VerdictDialog,
  waive: WaiveDialog,
  aside: AsideDialog,
  state: StateDialog,
  fix: FixDialog,
  applied: AppliedDialog,
  verify: VerifyDialog,
  wrong: WrongDialog,
  mute: MuteDialog,
  hosts: HostsDialog,
  edit: EditDialog,
  hypothesis: HypothesisDialog,
  export: ExportDialog,
} as const;

/** The open dialog of an incident; it stands in the address. */
export function Acts({ incident, view }: Omit<ActProps, "onClose">) {
  if (view.act === "") return null;
  const Open = DIALOGS[view.act];
  const keepsWhat = view.pane === "fixes";
  return (
    <Open
      incident={incident}
      view={view}
      onClose={() => view.set({ act: "", ...(keepsWhat ? {} : { what: "" }) })}
    />
  );
}
