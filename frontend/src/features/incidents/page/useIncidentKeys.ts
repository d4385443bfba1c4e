import { useHotkeys } from "@mantine/hooks";
import type { Incident } from "../../../client/models";
import type { IncidentView } from "./useIncidentView";

/**
 * Bind keys: j and k select the next and previous step, n calls `onNext`, e pins the current view. They are inactive
 * while the user types or a dialog is open.
 */
export function useIncidentKeys(incident: Incident, view: IncidentView, onNext: () => void): void {
  const free = () => view.dialog === "" && document.querySelector("[role=dialog]") === null;
  const walk = (by: number) => {
    const { keys, step } = view;
    const at = step ? keys.indexOf(step.key) : -1;
    const to = keys[Math.min(keys.length - 1, Math.max(0, at + by))];
    if (!to || !free()) return;
    view.set({ step: to, pane: "evidence" });
    document.getElementById(`step-${to}`)?.focus();
  };
  useHotkeys([
    ["j", () => walk(1)],
    ["k", () => walk(-1)],
    ["n", () => incident.next && free() && onNext()],
    ["e", () => free() && document.getElementById("pin-shown")?.click()],
  ]);
}
