import type { Incident } from "../../../client/models";
import { playbookIdOf } from "../../../core/incidents/chain";

const CAUSE_STATES = ["likely", "confirmed"];

/** Return the playbook of a step or hypothesis key; undefined for a hypothesis that a user added. */
export const findPlaybook = (incident: Incident, key: string) =>
  incident.playbooks.find((playbook) => playbook.id === playbookIdOf(key));

/** Return whether a playbook can be dismissed: it is not dismissed yet and has no likely or confirmed hypothesis. */
export const canDismissPlaybook = (incident: Incident, book: string): boolean =>
  incident.playbooks.some((playbook) => playbook.id === book && playbook.state !== "dismissed") &&
  !incident.hypotheses.some(
    (hypothesis) => playbookIdOf(hypothesis.key) === book && CAUSE_STATES.includes(hypothesis.state),
  );
