import { useCallback, useMemo } from "react";
import type { Incident } from "../../../client/models";
import { firstStep, groupByBranch, isAbout, orderSteps } from "../../../core/incidents/chain";
import { useLocalized } from "../../../lib/text/i18n";
import { useNames } from "../../../lib/text/useNames";
import { useUrlState } from "../../../lib/urlState";
import type { IncidentStep } from "../api";
import { FIELDS } from "./fields";

/** Return the selected step, host and dialog of an incident from the URL. All panes use this hook. */
export function useIncidentView(incident: Incident) {
  const [state, set] = useUrlState(FIELDS);
  const { steps, hypotheses, gaps, next } = incident;
  const keys = useMemo(() => orderSteps(steps, hypotheses), [steps, hypotheses]);
  const stepKey = keys.includes(state.step) ? state.step : (firstStep(steps, gaps, next?.step) ?? "");
  const step = steps.find((step) => step.key === stepKey);
  const hosts = incident.hosts;
  const answered = step?.hosts.map((answer) => answer.host_id) ?? [];
  const host =
    hosts.find((host) => host.id === state.host) ??
    hosts.find((host) => next?.step === stepKey && host.id === next.host_id) ??
    hosts.find((host) => answered.includes(host.id) && host.role === "suspect") ??
    hosts[0];
  const answer = step?.hosts.find((answer) => answer.host_id === host?.id);
  const choose = useCallback((key: string) => set({ step: key, pane: "evidence" }, { push: true }), [set]);
  return { ...state, set, keys, step, host, answer, choose };
}
export type IncidentView = ReturnType<typeof useIncidentView>;

/** Return the number of a step in the evidence chain, from 1. */
export const stepNumber = (view: Pick<IncidentView, "keys">, key: string): number =>
  view.keys.indexOf(key) + 1;

/** Return the hypothesis that a step tests, with its label H1, H2, …; undefined for a gate. */
export function findHypothesis(incident: Incident, step: IncidentStep) {
  const at = incident.hypotheses.findIndex((hypothesis) => isAbout(step, hypothesis));
  const hypothesis = incident.hypotheses[at];
  return hypothesis && { sign: `H${at + 1}`, ...hypothesis };
}

export const listBranches = (incident: Incident) => groupByBranch(incident.steps, incident.hypotheses);

/** Return a function that names a cause: its catalog name, else the summary of its hypothesis, else its ID. */
export function useCauseName(incident: Incident) {
  const names = useNames();
  const localize = useLocalized();
  return useCallback(
    (cause: string, hypothesis = "") =>
      (cause && names.cause(cause)) ||
      localize(incident.hypotheses.find((item) => item.key === hypothesis)?.summary) ||
      cause,
    [names, localize, incident.hypotheses],
  );
}
