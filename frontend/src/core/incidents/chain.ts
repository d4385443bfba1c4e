/** The chain of an incident as its screens read it. Nothing here asks or draws. */

type Verdict = "supports" | "refutes" | "inconclusive" | "not_collected";

interface AnswerLike {
  readonly verdict: Verdict;
}
interface StepLike {
  readonly key: string;
  readonly playbook: string;
  readonly about: string;
  readonly on_path: boolean;
  readonly hosts: readonly AnswerLike[];
}
interface HypothesisLike {
  readonly key: string;
}

/** Whether hosts give opposite answers to a step. */
export const isSplit = (hosts: readonly AnswerLike[]): boolean =>
  hosts.some((answer) => answer.verdict === "supports") &&
  hosts.some((answer) => answer.verdict === "refutes");

/** Whether a step is about a hypothesis, which it may name with or without its playbook. */
export const isAbout = (step: StepLike, hypothesis: HypothesisLike): boolean =>
  hypothesis.key === step.about || hypothesis.key === `${step.playbook}/${step.about}`;

/** The playbook that a step or hypothesis is of. */
export const playbookIdOf = (key: string): string => key.split("/", 1)[0] ?? "";

export interface Branch<S, H> {
  /** undefined: the gates, which are about no hypothesis. */
  readonly hypothesis: H | undefined;
  readonly steps: readonly S[];
}

/** Steps below what they are about: first the gates, then each hypothesis in its order. */
export function groupByBranch<S extends StepLike, H extends HypothesisLike>(
  steps: readonly S[],
  hypotheses: readonly H[],
): Branch<S, H>[] {
  const gates = steps.filter((step) => !hypotheses.some((hypothese) => isAbout(step, hypothese)));
  const out: Branch<S, H>[] = hypotheses.map((hypothesis) => ({
    hypothesis,
    steps: steps.filter((step) => isAbout(step, hypothesis)),
  }));
  return gates.length > 0 ? [{ hypothesis: undefined, steps: gates }, ...out] : out;
}

/** The keys of steps in the order in which they are drawn; it is the order of j and k. */
export const orderSteps = <S extends StepLike, H extends HypothesisLike>(
  steps: readonly S[],
  hypotheses: readonly H[],
): string[] => groupByBranch(steps, hypotheses).flatMap((branch) => branch.steps.map((step) => step.key));

/** The step that one looks at first: the missing link that is next, else the first gap, else the first on the way. */
export const firstStep = (
  steps: readonly StepLike[],
  gaps: readonly string[],
  next: string | undefined,
): string | undefined => next ?? gaps[0] ?? steps.find((step) => step.on_path)?.key ?? steps[0]?.key;

/**
 * The step that shows whether the symptom continues: one about the symptom that was answered before, of this playbook if it
 * can be. One that could not be run the first time, as it needs an address, cannot be run again either.
 */
export function symptomStep(
  steps: readonly (StepLike & { readonly finding: string; readonly verdict: string })[],
  playbook = "",
): string | undefined {
  const collects = steps.filter((step) => step.finding);
  const symptoms = collects.filter((collect) => collect.about === "symptom");
  const answered = symptoms.filter((symptom) => symptom.verdict !== "not_collected");
  const own = (of: typeof symptoms) => of.find((item) => item.playbook === playbook) ?? of[0];
  return (own(answered) ?? own(symptoms) ?? collects[0])?.key;
}
