import type { OriginDifference } from "../api";

/** Verdicts that differ in the same way, on each run or host. */
export interface DifferenceGroup extends Omit<OriginDifference, "on"> {
  on: string[];
}

/** One rule that is missing everywhere is one line, and not one for each run. */
export function groupDifferences(different: readonly OriginDifference[]): DifferenceGroup[] {
  const groups = new Map<string, DifferenceGroup>();
  for (const { on, ...same } of different) {
    const key = JSON.stringify([same.kind, same.about, same.original, same.local, same.why]);
    const known = groups.get(key);
    if (known) known.on.push(on);
    else groups.set(key, { ...same, on: [on] });
  }
  return [...groups.values()];
}
