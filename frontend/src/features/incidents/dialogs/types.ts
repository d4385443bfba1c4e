import type { Incident } from "../../../client/models";
import type { IncidentView } from "../page/useIncidentView";

/** Properties of every dialog of an incident. */
export interface IncidentDialogProps {
  incident: Incident;
  view: IncidentView;
  onClose: () => void;
}
