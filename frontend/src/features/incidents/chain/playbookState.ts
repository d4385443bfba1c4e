import type { Incident } from "../../../client/models";
import { playbookIdOf } from "../../../core/incidents/chain";

const CAUSE = ["likely", "confirmed"];

/** A playbook of an incident with what it was left out for; undefined for one's own hypotheses. */
export const findPlaybook = (incident: Incident, key: string) =>
  incident.playbooks.find((playbook) => playbook.id === playbookIdOf(key));

/** Whether a playbook can be dismissed: no confirmed cause comes from it. */
export const canDismissPlaybook = (incident: Incident, book: string): boolean =>
  incident.playbooks.some((playbook) => playbook.id === book && playbook.state !== "dismissed") &&
  !incident.hypotheses.some(
    (hypothesis) => playbookIdOf(hypothesis.key) === book && CAUSE.includes(hypothesis.state),
  );
