import type { OriginDifference } from "../../client/incidents";

/** Verdicts that differ in the same way, on each run or host. */
export interface Alike extends Omit<OriginDifference, "on"> {
  on: string[];
}

/** One rule that is missing everywhere is one line, and not one for each run. */
export function alike(different: readonly OriginDifference[]): Alike[] {
  const found = new Map<string, Alike>();
  for (const { on, ...same } of different) {
    const key = JSON.stringify([same.kind, same.about, same.there, same.here, same.why]);
    const known = found.get(key);
    if (known) known.on.push(on);
    else found.set(key, { ...same, on: [on] });
  }
  return [...found.values()];
}
