import type { HostRole, Symptom } from "../../client/incidents";
import type { ScopeKind } from "../../client/types";

export const LEVELS = ["latency", "errors", "rate"] as const;
export type LevelName = (typeof LEVELS)[number];

/** Units that people write behind the numbers of a symptom; the first is offered. */
export const UNITS: Record<LevelName, readonly string[]> = {
  latency: ["ms", "s"],
  errors: ["%", "/s"],
  rate: ["req/s", "/s", "/min"],
};

export interface LevelDraft {
  before: string;
  after: string;
  unit: string;
}

/** A symptom as it is typed. */
export type SymptomDraft = { service: string; says: string; since: string } & Record<LevelName, LevelDraft>;

export interface HostDraft {
  id: string;
  kind: ScopeKind;
  value: string;
  role: HostRole;
}

const level = (name: LevelName, of?: Symptom[LevelName]): LevelDraft => ({
  before: of?.before?.toString() ?? "",
  after: of?.after?.toString() ?? "",
  unit: of?.unit || (UNITS[name][0] ?? ""),
});

export const draftOf = (symptom?: Symptom): SymptomDraft => ({
  service: symptom?.service ?? "",
  says: symptom?.says ?? "",
  since: symptom?.since ?? "",
  latency: level("latency", symptom?.latency),
  errors: level("errors", symptom?.errors),
  rate: level("rate", symptom?.rate),
});

/** A number as people type it, with a comma or a point; undefined where it is none. */
export function typedNumber(text: string): number | undefined {
  const plain = text.trim().replace(",", ".");
  const value = Number(plain);
  return plain !== "" && Number.isFinite(value) ? value : undefined;
}

export const isNumberOrEmpty = (text: string): boolean =>
  text.trim() === "" || typedNumber(text) !== undefined;

export const symptomFits = (draft: SymptomDraft): boolean =>
  LEVELS.every((name) => isNumberOrEmpty(draft[name].before) && isNumberOrEmpty(draft[name].after));

export function symptomBody(draft: SymptomDraft) {
  const told = ({ before, after, unit }: LevelDraft) => {
    const [was, is] = [typedNumber(before), typedNumber(after)];
    return was === undefined && is === undefined ? null : { before: was ?? null, after: is ?? null, unit };
  };
  return {
    service: draft.service.trim(),
    says: draft.says.trim(),
    since: draft.since || null,
    latency: told(draft.latency),
    errors: told(draft.errors),
    rate: told(draft.rate),
  };
}

export const hostBody = ({ id, kind, value, role }: HostDraft) => ({
  host_id: id,
  scope: { kind, value: kind === "host" ? "" : value.trim() },
  role,
});

interface PlaybookLike {
  readonly id: string;
  readonly kind: string;
  readonly steps: number;
  readonly title: { en: string; zh: string };
  readonly symptom: { en: string; zh: string };
  readonly causes: readonly string[];
}

const SHORT = 4;
/** Words of four letters and more; Chinese, which has no spaces, in pairs of characters. */
const wordsOf = (text: string): string[] => {
  const found = text
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .flatMap((one) =>
      /\p{Script=Han}/u.test(one)
        ? [...one].slice(1).map((second, i) => `${[...one][i]}${second}`)
        : one.length >= SHORT
          ? [one]
          : [],
    );
  return [...new Set(found)];
};

/** Playbooks that have a cause that was named, or speak of the same in their symptom; the best first. */
export function suggested<P extends PlaybookLike>(
  playbooks: readonly P[],
  causes: readonly string[],
  words: string,
  most = 5,
): P[] {
  const said = wordsOf(words);
  const worth = (one: P) => {
    const text = `${one.title.en} ${one.symptom.en} ${one.title.zh} ${one.symptom.zh}`.toLowerCase();
    const shared = one.causes.filter((cause) => causes.includes(cause)).length;
    return 10 * shared + said.filter((word) => text.includes(word)).length;
  };
  return playbooks
    .filter((one) => one.steps > 0)
    .map((one) => ({ one, worth: worth(one) }))
    .filter(({ worth: of }) => of > 0)
    .sort((a, b) => b.worth - a.worth)
    .slice(0, most)
    .map(({ one }) => one);
}
