import { useCallback, useMemo } from "react";
import type { Incident, IncidentStep } from "../../client/incidents";
import { branches, firstStep, isAbout, order } from "../../core/chain";
import { usePick } from "../../lib/i18n";
import { useUrlState } from "../../lib/urlState";
import { useNames } from "../../lib/useNames";
import { FIELDS } from "./fields";

/** What of an incident is looked at. All three panes read it here, so that they always agree. */
export function useIncidentView(incident: Incident) {
  const [state, set] = useUrlState(FIELDS);
  const { steps, hypotheses, gaps, next } = incident;
  const keys = useMemo(() => order(steps, hypotheses), [steps, hypotheses]);
  const stepKey = keys.includes(state.step) ? state.step : (firstStep(steps, gaps, next?.step) ?? "");
  const step = steps.find((one) => one.key === stepKey);
  const hosts = incident.hosts;
  const answered = step?.hosts.map((one) => one.host_id) ?? [];
  const host =
    hosts.find((one) => one.id === state.host) ??
    hosts.find((one) => next?.step === stepKey && one.id === next.host_id) ??
    hosts.find((one) => answered.includes(one.id) && one.role === "suspect") ??
    hosts[0];
  const answer = step?.hosts.find((one) => one.host_id === host?.id);
  const choose = useCallback((key: string) => set({ step: key, pane: "evidence" }, { push: true }), [set]);
  return { ...state, set, keys, step, host, answer, choose };
}
export type IncidentView = ReturnType<typeof useIncidentView>;

/** The number of a step in the order of the drawing. */
export const numberOf = (view: Pick<IncidentView, "keys">, key: string): number => view.keys.indexOf(key) + 1;

/** H1, H2 … for what a step is about; undefined for a gate. */
export function hypothesisOf(incident: Incident, step: IncidentStep) {
  const at = incident.hypotheses.findIndex((one) => isAbout(step, one));
  const found = incident.hypotheses[at];
  return found && { sign: `H${at + 1}`, ...found };
}

export const branchesOf = (incident: Incident) => branches(incident.steps, incident.hypotheses);

/** The name of a cause: published, or the words of the hypothesis that it came from. */
export function useCauseName(incident: Incident) {
  const names = useNames();
  const pick = usePick();
  return useCallback(
    (cause: string, hypothesis = "") =>
      (cause && names.cause(cause)) ||
      pick(incident.hypotheses.find((one) => one.key === hypothesis)?.says) ||
      cause,
    [names, pick, incident.hypotheses],
  );
}
