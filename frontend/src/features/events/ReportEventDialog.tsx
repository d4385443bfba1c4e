import { useDialogState } from "../../lib/dialogs";
import { EventDialog } from "./EventDialog";

/** Tells an event from any screen, of the hosts that the address names. */
export function AnnotateDialog({ onClose }: { onClose: () => void }) {
  const [view] = useDialogState();
  return <EventDialog hosts={view.on} onClose={onClose} />;
}
