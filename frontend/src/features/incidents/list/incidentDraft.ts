import type { ScopeKind } from "../../../client/models";
import type { HostRole, Symptom } from "../api";

export const LEVELS = ["latency", "errors", "rate"] as const;
export type LevelName = (typeof LEVELS)[number];

/** Suggested units of symptom levels; the first is the default. */
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

/** Form values of a symptom. */
export type SymptomDraft = { service: string; description: string; since: string } & Record<
  LevelName,
  LevelDraft
>;

export interface HostDraft {
  id: string;
  kind: ScopeKind;
  value: string;
  role: HostRole;
}

const toLevelDraft = (name: LevelName, of?: Symptom[LevelName]): LevelDraft => ({
  before: of?.before?.toString() ?? "",
  after: of?.after?.toString() ?? "",
  unit: of?.unit || (UNITS[name][0] ?? ""),
});

export const toSymptomDraft = (symptom?: Symptom): SymptomDraft => ({
  service: symptom?.service ?? "",
  description: symptom?.description ?? "",
  since: symptom?.since ?? "",
  latency: toLevelDraft("latency", symptom?.latency),
  errors: toLevelDraft("errors", symptom?.errors),
  rate: toLevelDraft("rate", symptom?.rate),
});

/** Parse a number with a decimal comma or point; return undefined for other text. */
export function parseNumber(text: string): number | undefined {
  const plain = text.trim().replace(",", ".");
  const value = Number(plain);
  return plain !== "" && Number.isFinite(value) ? value : undefined;
}

export const isNumberOrEmpty = (text: string): boolean =>
  text.trim() === "" || parseNumber(text) !== undefined;

export const isSymptomValid = (draft: SymptomDraft): boolean =>
  LEVELS.every((name) => isNumberOrEmpty(draft[name].before) && isNumberOrEmpty(draft[name].after));

export function toSymptomBody(draft: SymptomDraft) {
  const toLevel = ({ before, after, unit }: LevelDraft) => {
    const [from, to] = [parseNumber(before), parseNumber(after)];
    return from === undefined && to === undefined ? null : { before: from ?? null, after: to ?? null, unit };
  };
  return {
    service: draft.service.trim(),
    description: draft.description.trim(),
    since: draft.since || null,
    latency: toLevel(draft.latency),
    errors: toLevel(draft.errors),
    rate: toLevel(draft.rate),
  };
}

export const toHostBody = ({ id, kind, value, role }: HostDraft) => ({
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

const MIN_WORD_LENGTH = 4;
/** Return the distinct words of at least `SHORT` letters; Chinese text, which has no spaces, as pairs of characters. */
const splitWords = (text: string): string[] => {
  const words = text
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .flatMap((item) =>
      /\p{Script=Han}/u.test(item)
        ? [...item].slice(1).map((second, i) => `${[...item][i]}${second}`)
        : item.length >= MIN_WORD_LENGTH
          ? [item]
          : [],
    );
  return [...new Set(words)];
};

/** Return up to `most` playbooks that share a named cause or words of the symptom, best match first. */
export function suggestPlaybooks<P extends PlaybookLike>(
  playbooks: readonly P[],
  causes: readonly string[],
  words: string,
  most = 5,
): P[] {
  const symptomWords = splitWords(words);
  const scoreOf = (item: P) => {
    const text = `${item.title.en} ${item.symptom.en} ${item.title.zh} ${item.symptom.zh}`.toLowerCase();
    const shared = item.causes.filter((cause) => causes.includes(cause)).length;
    return 10 * shared + symptomWords.filter((word) => text.includes(word)).length;
  };
  return playbooks
    .filter((playbook) => playbook.steps > 0)
    .map((playbook) => ({ playbook, score: scoreOf(playbook) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, most)
    .map(({ playbook }) => playbook);
}
