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

/** Whether hosts say opposite things of a step. */
export const isSplit = (hosts: readonly AnswerLike[]): boolean =>
  hosts.some((one) => one.verdict === "supports") && hosts.some((one) => one.verdict === "refutes");

/** Whether a step is about a hypothesis, which it may name with or without its playbook. */
export const isAbout = (step: StepLike, hypothesis: HypothesisLike): boolean =>
  hypothesis.key === step.about || hypothesis.key === `${step.playbook}/${step.about}`;

/** The playbook that a step or hypothesis is of. */
export const bookOf = (key: string): string => key.split("/", 1)[0] ?? "";

export interface Branch<S, H> {
  /** undefined: the gates, which are about no hypothesis. */
  readonly hypothesis: H | undefined;
  readonly steps: readonly S[];
}

/** Steps below what they are about: first the gates, then each hypothesis in its order. */
export function branches<S extends StepLike, H extends HypothesisLike>(
  steps: readonly S[],
  hypotheses: readonly H[],
): Branch<S, H>[] {
  const gates = steps.filter((step) => !hypotheses.some((one) => isAbout(step, one)));
  const out: Branch<S, H>[] = hypotheses.map((hypothesis) => ({
    hypothesis,
    steps: steps.filter((step) => isAbout(step, hypothesis)),
  }));
  return gates.length > 0 ? [{ hypothesis: undefined, steps: gates }, ...out] : out;
}

/** The keys of steps in the order in which they are drawn; it is the order of j and k. */
export const order = <S extends StepLike, H extends HypothesisLike>(
  steps: readonly S[],
  hypotheses: readonly H[],
): string[] => branches(steps, hypotheses).flatMap((one) => one.steps.map((step) => step.key));

/** The step that one looks at first: the missing link that is next, else the first gap, else the first on the way. */
export const firstStep = (
  steps: readonly StepLike[],
  gaps: readonly string[],
  next: string | undefined,
): string | undefined => next ?? gaps[0] ?? steps.find((one) => one.on_path)?.key ?? steps[0]?.key;

/**
 * The step that tells whether it still hurts: one about the symptom that was answered before, of this playbook if it
 * can be. One that nobody could take the first time, as it asks for an address, cannot be taken again either.
 */
export function symptomStep(
  steps: readonly (StepLike & { readonly finding: string; readonly verdict: string })[],
  playbook = "",
): string | undefined {
  const collects = steps.filter((one) => one.finding);
  const symptoms = collects.filter((one) => one.about === "symptom");
  const answered = symptoms.filter((one) => one.verdict !== "not_collected");
  const own = (of: typeof symptoms) => of.find((one) => one.playbook === playbook) ?? of[0];
  return (own(answered) ?? own(symptoms) ?? collects[0])?.key;
}
