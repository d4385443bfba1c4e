import { useCallback, useMemo } from "react";
import type { DryRunResult, Playbook, StepAnswer, StepVerdict } from "../../client/models";
import { useLocalized } from "../../lib/text/i18n";
import { useTranslation } from "../../lib/text/useTranslation";
import type { PlaybookStep } from "./api";

export const END_BRANCH = "end";
export const PLAYBOOK_BRANCH_PREFIX = "playbook:";

const GATE_SUBJECTS = ["symptom", "prerequisite", "quality"] as const;
type Gate = (typeof GATE_SUBJECTS)[number];
const isGate = (about: string): about is Gate => (GATE_SUBJECTS as readonly string[]).includes(about);

/** Return the branch of a verdict: its own, or `otherwise`. */
export const chooseBranch = (step: PlaybookStep, verdict: StepVerdict): string =>
  verdict in step.branches ? verdict : "otherwise";

/** Return a function that names the subject of a step: a short label (H1, or the gate) and a description. */
export function useHypothesisText(playbook: Playbook) {
  const { t } = useTranslation();
  const localize = useLocalized();
  return useCallback(
    (about: string): { label: string; summary: string } => {
      if (isGate(about))
        return { label: t(`playbooks.gate.${about}`), summary: t(`playbooks.gateMeaning.${about}`) };
      const index = playbook.hypotheses.findIndex((hypothesis) => hypothesis.id === about);
      const hypothesis = playbook.hypotheses[index];
      return hypothesis
        ? { label: `H${index + 1}`, summary: localize(hypothesis.summary) }
        : { label: about, summary: about };
    },
    [playbook, localize, t],
  );
}

export interface StepsByKey {
  answers: ReadonlyMap<string, StepAnswer>;
  onPath: ReadonlySet<string>;
  gaps: ReadonlySet<string>;
}

/** Index the result of a dry run by step. */
export const useStepsByKey = (chain: DryRunResult | undefined): StepsByKey | undefined =>
  useMemo(
    () =>
      chain && {
        answers: new Map(chain.answers.map((answer) => [answer.step, answer])),
        onPath: new Set(chain.path),
        gaps: new Set(chain.gaps),
      },
    [chain],
  );
