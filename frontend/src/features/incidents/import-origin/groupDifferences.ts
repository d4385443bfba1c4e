import type { VerdictDifference } from "../api";

/** A difference that several runs or hosts share; `on` lists their IDs. */
export interface DifferenceGroup extends Omit<VerdictDifference, "on"> {
  on: string[];
}

/** Merge differences that are equal except for their run or host. */
export function groupDifferences(different: readonly VerdictDifference[]): DifferenceGroup[] {
  const groups = new Map<string, DifferenceGroup>();
  for (const { on, ...same } of different) {
    const key = JSON.stringify([same.kind, same.about, same.original, same.local, same.why]);
    const known = groups.get(key);
    if (known) known.on.push(on);
    else groups.set(key, { ...same, on: [on] });
  }
  return [...groups.values()];
}
