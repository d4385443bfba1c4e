/** Evidence chain of an incident: grouping and order of its steps. */

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

/** Return whether the verdicts of hosts on a step contradict each other. */
export const isContradicted = (hosts: readonly AnswerLike[]): boolean =>
  hosts.some((answer) => answer.verdict === "supports") &&
  hosts.some((answer) => answer.verdict === "refutes");

/** Return whether a step is about a hypothesis. The step can refer to it with or without the playbook id. */
export const isAbout = (step: StepLike, hypothesis: HypothesisLike): boolean =>
  hypothesis.key === step.about || hypothesis.key === `${step.playbook}/${step.about}`;

/** Return the playbook id in the key of a step or hypothesis. */
export const playbookIdOf = (key: string): string => key.split("/", 1)[0] ?? "";

export interface Branch<S, H> {
  /** undefined for gates: steps that are not about a hypothesis. */
  readonly hypothesis: H | undefined;
  readonly steps: readonly S[];
}

/** Group steps by hypothesis: first the gates, then the hypotheses in their order. */
export function groupByBranch<S extends StepLike, H extends HypothesisLike>(
  steps: readonly S[],
  hypotheses: readonly H[],
): Branch<S, H>[] {
  const gates = steps.filter((step) => !hypotheses.some((hypothesis) => isAbout(step, hypothesis)));
  const out: Branch<S, H>[] = hypotheses.map((hypothesis) => ({
    hypothesis,
    steps: steps.filter((step) => isAbout(step, hypothesis)),
  }));
  return gates.length > 0 ? [{ hypothesis: undefined, steps: gates }, ...out] : out;
}

const MAX_BRANCHES = 10;

/**
 * Return the branches that are visible at first. If there are many, these are the branches that matter now (`needed`),
 * those with evidence for or against them, and then the others up to ten.
 */
export function limitBranches<S extends StepLike, H extends HypothesisLike & { readonly status: string }>(
  branches: readonly Branch<S, H>[],
  needed: (branch: Branch<S, H>) => boolean,
): Branch<S, H>[] {
  if (branches.length <= MAX_BRANCHES + 2) return [...branches];
  const isFirst = (branch: Branch<S, H>) =>
    needed(branch) || branch.hypothesis?.status === "supported" || branch.hypothesis?.status === "contested";
  let left = MAX_BRANCHES - branches.filter(isFirst).length;
  return branches.filter((branch) => {
    if (isFirst(branch)) return true;
    left -= 1;
    return left >= 0;
  });
}

/** Return the keys of steps in display order, which is also the order of the shortcuts j and k. */
export const orderSteps = <S extends StepLike, H extends HypothesisLike>(
  steps: readonly S[],
  hypotheses: readonly H[],
): string[] => groupByBranch(steps, hypotheses).flatMap((branch) => branch.steps.map((step) => step.key));

/** Return the initially selected step: `next`, else the first gap, else the first step on the path, else the first. */
export const firstStep = (
  steps: readonly StepLike[],
  gaps: readonly string[],
  next: string | undefined,
): string | undefined => next ?? gaps[0] ?? steps.find((step) => step.on_path)?.key ?? steps[0]?.key;

/**
 * Return the step that verifies whether the symptom continues: a step about the symptom, preferably one that was
 * answered before and belongs to `playbook`, else any step that collects data. A step that was not collected, for
 * example because it needs an address, is unlikely to work the second time.
 */
export function symptomStep(
  steps: readonly (StepLike & { readonly finding: string; readonly verdict: string })[],
  playbook = "",
): string | undefined {
  const collecting = steps.filter((step) => step.finding);
  const symptoms = collecting.filter((step) => step.about === "symptom");
  const answered = symptoms.filter((step) => step.verdict !== "not_collected");
  const preferred = (of: typeof symptoms) => of.find((step) => step.playbook === playbook) ?? of[0];
  return (preferred(answered) ?? preferred(symptoms) ?? collecting[0])?.key;
}
