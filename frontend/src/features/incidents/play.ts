import type { Incident } from "../../client/incidents";
import { bookOf } from "../../core/chain";

const CAUSE = ["likely", "confirmed"];

/** A playbook of an incident with what it was left out for; undefined for one's own hypotheses. */
export const playbookOf = (incident: Incident, key: string) =>
  incident.playbooks.find((one) => one.id === bookOf(key));

/** Whether a playbook can be set aside as a whole: nobody stands by a cause that comes from it. */
export const mayBeSetAside = (incident: Incident, book: string): boolean =>
  incident.playbooks.some((one) => one.id === book && one.play !== "aside") &&
  !incident.hypotheses.some((one) => bookOf(one.key) === book && CAUSE.includes(one.state));
