/** Numbers of findings, compared with their thresholds. */

import type { SubjectMap } from "../hosts/subject";
import { fillTemplate } from "./fillTemplate";
import { formatNumber, formatQuantity } from "./format";

type Detail = Readonly<Record<string, unknown>>;

export interface SourceReference {
  readonly run?: string;
  readonly collector?: string;
  readonly artifact?: string;
  readonly part?: string;
  readonly lines?: readonly number[];
  readonly profile?: string;
  readonly frame?: string;
}

/** Number of a finding or of evidence. */
export interface FindingFigure {
  readonly rule: string;
  readonly measure: string;
  readonly value: number;
  readonly unit: string;
  /** Null, as the threshold, for related numbers. */
  readonly op: string | null;
  readonly threshold: number | null;
  readonly baseline: number | null;
  readonly sample_count: number;
  /** Bounds of the 95 % interval; equal for an exact number, null where the samples do not limit it. */
  readonly low?: number | null;
  readonly high?: number | null;
  readonly subject: SubjectMap;
  /** The name of the process, if the subject is only a number. */
  readonly processName: string;
  readonly places: readonly SourceReference[];
}

type NumberFields = Pick<
  FindingFigure,
  "value" | "unit" | "op" | "threshold" | "baseline" | "sample_count" | "low" | "high"
>;

/** Number that is compared with a threshold. */
export type ComparedFigure = FindingFigure & { readonly op: string; readonly threshold: number };

export const hasThreshold = (figure: FindingFigure): figure is ComparedFigure =>
  figure.op !== null && figure.threshold !== null;

interface EvidenceLike extends NumberFields {
  readonly finding: string;
  readonly metric: string;
  readonly subject: SubjectMap;
  readonly detail: Detail;
  readonly artifact: string | null;
  readonly locator: SourceReference;
}

interface FindingLike {
  readonly rule: string;
  readonly subject: SubjectMap;
  readonly detail: Detail;
  readonly numbers: readonly (NumberFields & {
    readonly measure: string;
    readonly subject?: SubjectMap | null;
    readonly citations: readonly SourceReference[];
  })[];
}

const pickNumberFields = ({
  value,
  unit,
  op,
  threshold,
  baseline,
  sample_count,
  low = null,
  high = null,
}: NumberFields): NumberFields => ({
  value,
  unit,
  op,
  threshold,
  baseline,
  sample_count,
  low,
  high,
});

/** Return the 95 % interval of a number, or undefined if the number is exact. An unknown bound is null. */
export function confidenceInterval({
  value,
  low = null,
  high = null,
}: Pick<FindingFigure, "value" | "low" | "high">) {
  if (low === null && high === null) return undefined;
  return low === value && high === value ? undefined : { low, high };
}

/** Return the process name in the details of a finding, or "". */
export const processNameOf = ({ comm, name }: Detail): string =>
  [comm, name].find((item): item is string => typeof item === "string") ?? "";

export const toFigure = (item: EvidenceLike): FindingFigure => ({
  ...pickNumberFields(item),
  rule: item.finding,
  measure: item.metric,
  subject: item.subject,
  processName: processNameOf(item.detail),
  places: [{ ...item.locator, ...(item.artifact ? { artifact: item.artifact } : {}) }],
});

export const toFigures = (finding: FindingLike): FindingFigure[] =>
  finding.numbers.map((each) => ({
    ...pickNumberFields(each),
    rule: finding.rule,
    measure: each.measure,
    subject: each.subject ?? finding.subject,
    processName: processNameOf(finding.detail),
    places: each.citations,
  }));

const AGGREGATIONS = [
  "mean",
  "max",
  "min",
  "held",
  "held_below",
  "sum",
  "first",
  "last",
  "growth",
  "p95",
] as const;
export type Aggregation = (typeof AGGREGATIONS)[number];

/** Parts of a measure: `disk.await_ms{dev=sda}[7].held` is metric, labels, axis value and aggregation. */
export interface MeasureParts {
  readonly metric: string;
  readonly labels: string;
  readonly axis: string;
  readonly how: Aggregation | undefined;
}

export function parseMeasure(id: string): MeasureParts {
  const match = /^([\w.]+?)(?:\{([^}]*)\})?(?:\[([^\]]*)\])?(?:\.([a-z0-9_]+))?$/.exec(id);
  const how = AGGREGATIONS.find((how) => how === match?.[4]);
  if (!match || !how) return { metric: id, labels: "", axis: "", how: undefined };
  return { metric: match[1] ?? id, labels: match[2] ?? "", axis: match[3] ?? "", how };
}

/** Text after a number that already names its unit. */
const NAMED =
  /^\s*(%|‰|[µnm]?s\b|us\b|min\b|[KMGT]?i?B\b|bytes?\b|(milli|micro|nano)?seconds?\b|毫秒|微秒|纳秒|秒|字节)/;
const UNITS_WITHOUT_TEXT = new Set(["per_s", "1/s", "/s", "count", "", "1", "packets_per_s", "pages_per_s"]);

/** Format a number for a sentence: with its unit, unless the text after it names the unit. */
function formatInSentence(value: number, unit: string, after: string): string {
  return UNITS_WITHOUT_TEXT.has(unit) || NAMED.test(after)
    ? formatNumber(value)
    : formatQuantity(value, unit);
}

/** Fill the summary of a rule with the number, the threshold, the subject and the details of a finding. */
export function fillSummary(template: string, finding: FindingLike): string {
  const own = finding.numbers[0];
  const numbers: Detail = {
    value: own?.value ?? null,
    threshold: own?.threshold ?? null,
    baseline: own?.baseline ?? null,
  };
  return fillTemplate(
    template,
    (name) => (name in numbers ? numbers[name] : (finding.detail[name] ?? finding.subject[name])),
    (value, name, after) => {
      if (typeof value !== "number") return String(value);
      return own && name in numbers ? formatInSentence(value, own.unit, after) : formatNumber(value);
    },
  );
}

/** Above this ratio, the smaller of two numbers is not visible on a linear scale. */
const LOG_SCALE_RATIO = 12;

export interface Scale {
  readonly log: boolean;
  /** Position of a value, 0…1. */
  readonly at: (value: number) => number;
}

/** Return a scale for a value, its threshold and its baseline: logarithmic if they are far apart. */
export function createScale(values: readonly number[], share = false): Scale {
  const sizes = values.filter(Number.isFinite).map(Math.abs);
  const most = Math.max(...sizes, 0);
  const seen = sizes.filter((size) => size > 0);
  const least = seen.length > 0 ? Math.min(...seen) : 0;
  const clamp = (x: number) => Math.min(1, Math.max(0, x));
  if (most === 0) return { log: false, at: () => 0 };
  if (least > 0 && most / least > LOG_SCALE_RATIO) {
    const from = Math.log10(least) - 0.5;
    const span = Math.log10(most) + 0.15 - from;
    return { log: true, at: (v) => (v === 0 ? 0 : clamp((Math.log10(Math.abs(v)) - from) / span)) };
  }
  const top = share && most <= 100 ? Math.max(100, most) : most * 1.15;
  return { log: false, at: (v) => clamp(Math.abs(v) / top) };
}

/** Return how many times a value exceeds its threshold, if the ratio is meaningful. */
export function exceedanceRatio(value: number, threshold: number, op: string): number | undefined {
  if (threshold === 0 || value === 0 || Math.sign(value) !== Math.sign(threshold)) return undefined;
  const ratio = op.startsWith("<") ? threshold / value : value / threshold;
  return ratio > 1 ? ratio : undefined;
}

const RANK = { critical: 0, warn: 1, info: 2 } as const;

/** Sort by severity, then by strength of evidence. */
export function sortBySeverity<T extends { severity: keyof typeof RANK; strength: string }>(
  findings: readonly T[],
): T[] {
  const strengths = ["direct", "mechanism", "correlational", "context"];
  return [...findings].sort(
    (x, y) =>
      RANK[x.severity] - RANK[y.severity] || strengths.indexOf(x.strength) - strengths.indexOf(y.strength),
  );
}

/** Group items by key, the largest group first. */
export function groupBy<T>(items: readonly T[], key: (item: T) => string): [string, T[]][] {
  const out = new Map<string, T[]>();
  for (const item of items) out.set(key(item), [...(out.get(key(item)) ?? []), item]);
  return [...out].sort(([, x], [, y]) => y.length - x.length);
}
