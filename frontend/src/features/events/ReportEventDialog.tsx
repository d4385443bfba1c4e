import { useDialogState } from "../../lib/dialogs";
import { EventDialog } from "./EventDialog";

/** Dialog that reports an event from any screen, for the hosts in the URL. */
export function ReportEventDialog({ onClose }: { onClose: () => void }) {
  const [view] = useDialogState();
  return <EventDialog hosts={view.on} onClose={onClose} />;
}
