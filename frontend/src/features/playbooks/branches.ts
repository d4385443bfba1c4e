import { useCallback, useMemo } from "react";
import { useTranslation } from "react-i18next";
import type { Playbook, PlaybookChain, PlaybookStep, StepAnswer, StepVerdict } from "../../client/types";
import { usePick } from "../../lib/i18n";

export const END = "end";
export const ELSEWHERE = "playbook:";

const GATES = ["symptom", "prerequisite", "quality"] as const;
type Gate = (typeof GATES)[number];
const isGate = (about: string): about is Gate => (GATES as readonly string[]).includes(about);

/** Which way a verdict goes: its own where the step names one, what is left otherwise. */
export const wayOf = (step: PlaybookStep, verdict: StepVerdict): string =>
  verdict in step.then ? verdict : "otherwise";

/** What a step is about, in a short sign (H1, or the name of a gate) and in words. */
export function useAbout(playbook: Playbook) {
  const { t } = useTranslation();
  const pick = usePick();
  return useCallback(
    (about: string): { sign: string; says: string } => {
      if (isGate(about))
        return { sign: t(`playbooks.gate.${about}`), says: t(`playbooks.gateMeaning.${about}`) };
      const at = playbook.hypotheses.findIndex((one) => one.id === about);
      const found = playbook.hypotheses[at];
      return found ? { sign: `H${at + 1}`, says: pick(found.says) } : { sign: about, says: about };
    },
    [playbook, pick, t],
  );
}

export interface Walked {
  answers: ReadonlyMap<string, StepAnswer>;
  onPath: ReadonlySet<string>;
  gaps: ReadonlySet<string>;
}

/** A chain by step. */
export const useWalked = (chain: PlaybookChain | undefined): Walked | undefined =>
  useMemo(
    () =>
      chain && {
        answers: new Map(chain.answers.map((one) => [one.step, one])),
        onPath: new Set(chain.path),
        gaps: new Set(chain.gaps),
      },
    [chain],
  );
