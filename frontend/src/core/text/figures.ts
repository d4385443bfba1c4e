/** The numbers of findings: what they say, where those that were compared stand beside their threshold. */
import { NO_VALUE, number, quantity } from "./format";
import type { SubjectMap } from "./subject";

type Detail = Readonly<Record<string, unknown>>;

export interface Place {
  readonly run?: string;
  readonly collector?: string;
  readonly artifact?: string;
  readonly part?: string;
  readonly lines?: readonly number[];
  readonly profile?: string;
  readonly frame?: string;
}

/** One number with all that stands beside it, whether it came as evidence or within a finding. */
export interface Figure {
  readonly rule: string;
  readonly measure: string;
  readonly value: number;
  readonly unit: string;
  /** Null, as the threshold, where it was compared with nothing. */
  readonly op: string | null;
  readonly threshold: number | null;
  readonly baseline: number | null;
  readonly n: number;
  readonly subject: SubjectMap;
  /** The name of the process, where the subject is a number only. */
  readonly called: string;
  readonly places: readonly Place[];
}

type Told = Pick<Figure, "value" | "unit" | "op" | "threshold" | "baseline" | "n">;

/** A number that was held against a threshold. */
export type Compared = Figure & { readonly op: string; readonly threshold: number };

export const wasCompared = (one: Figure): one is Compared => one.op !== null && one.threshold !== null;

interface EvidenceLike extends Told {
  readonly finding: string;
  readonly metric: string;
  readonly subject: SubjectMap;
  readonly detail: Detail;
  readonly artifact: string | null;
  readonly locator: Place;
}

interface FindingLike {
  readonly rule: string;
  readonly subject: SubjectMap;
  readonly detail: Detail;
  readonly numbers: readonly (Told & {
    readonly measure: string;
    readonly subject?: SubjectMap | null;
    readonly citations: readonly Place[];
  })[];
}

const told = ({ value, unit, op, threshold, baseline, n }: Told): Told => ({
  value,
  unit,
  op,
  threshold,
  baseline,
  n,
});

/** Rules tell the name of a process beside its number, under one of these. */
export const calledIn = ({ comm, name }: Detail): string =>
  [comm, name].find((one): one is string => typeof one === "string") ?? "";

export const figureOf = (one: EvidenceLike): Figure => ({
  ...told(one),
  rule: one.finding,
  measure: one.metric,
  subject: one.subject,
  called: calledIn(one.detail),
  places: [{ ...one.locator, ...(one.artifact ? { artifact: one.artifact } : {}) }],
});

export const figuresOf = (one: FindingLike): Figure[] =>
  one.numbers.map((each) => ({
    ...told(each),
    rule: one.rule,
    measure: each.measure,
    subject: each.subject ?? one.subject,
    called: calledIn(one.detail),
    places: each.citations,
  }));

const HOWS = ["mean", "max", "min", "held", "held_below", "sum", "first", "last", "growth", "p95"] as const;
export type How = (typeof HOWS)[number];

/** A measure taken apart: `disk.await_ms{dev=sda}[7].held` is a metric, its labels, a column, a reduction. */
export interface MeasureParts {
  readonly metric: string;
  readonly labels: string;
  readonly axis: string;
  readonly how: How | undefined;
}

export function measureParts(id: string): MeasureParts {
  const found = /^([\w.]+?)(?:\{([^}]*)\})?(?:\[([^\]]*)\])?(?:\.([a-z0-9_]+))?$/.exec(id);
  const how = HOWS.find((one) => one === found?.[4]);
  if (!found || !how) return { metric: id, labels: "", axis: "", how: undefined };
  return { metric: found[1] ?? id, labels: found[2] ?? "", axis: found[3] ?? "", how };
}

/** Words of a sentence that already name the unit, so that the number before them stands alone. */
const NAMED =
  /^\s*(%|‰|[µnm]?s\b|us\b|min\b|[KMGT]?i?B\b|bytes?\b|(milli|micro|nano)?seconds?\b|毫秒|微秒|纳秒|秒|字节)/;
const BARE = new Set(["per_s", "1/s", "/s", "count", "", "1", "packets_per_s", "pages_per_s"]);

/** A number for running text: with its unit, unless the words after it name the unit. */
function inText(value: number, unit: string, after: string): string {
  return BARE.has(unit) || NAMED.test(after) ? number(value) : quantity(value, unit);
}

/** What a rule says about a finding: its template with the number, the threshold, the subject and the details. */
export function saying(template: string, one: FindingLike): string {
  const own = one.numbers[0];
  return template.replace(/\{(\w+)\}/g, (place, name: string, at: number) => {
    const after = template.slice(at + place.length);
    if (name === "value" || name === "threshold") {
      const said = own?.[name] ?? null;
      return own && said !== null ? inText(said, own.unit, after) : NO_VALUE;
    }
    if (name === "baseline") return own?.baseline == null ? NO_VALUE : inText(own.baseline, own.unit, after);
    const known = one.detail[name] ?? one.subject[name];
    if (known === undefined || known === null) return place;
    return typeof known === "number" ? number(known) : String(known);
  });
}

/** Beyond this ratio a linear bar would show one of two numbers as nothing. */
const FAR = 12;

export interface Scale {
  readonly log: boolean;
  /** 0…1 for every value that was given. */
  readonly at: (value: number) => number;
}

/** An axis on which a value, its threshold and its baseline can all be seen. */
export function scaleOf(values: readonly number[], share = false): Scale {
  const sizes = values.filter(Number.isFinite).map(Math.abs);
  const most = Math.max(...sizes, 0);
  const seen = sizes.filter((one) => one > 0);
  const least = seen.length > 0 ? Math.min(...seen) : 0;
  const clamp = (x: number) => Math.min(1, Math.max(0, x));
  if (most === 0) return { log: false, at: () => 0 };
  if (least > 0 && most / least > FAR) {
    const from = Math.log10(least) - 0.5;
    const span = Math.log10(most) + 0.15 - from;
    return { log: true, at: (v) => (v === 0 ? 0 : clamp((Math.log10(Math.abs(v)) - from) / span)) };
  }
  const top = share && most <= 100 ? Math.max(100, most) : most * 1.15;
  return { log: false, at: (v) => clamp(Math.abs(v) / top) };
}

/** How many times a value is beyond its threshold, where that says something. */
export function timesBeyond(value: number, threshold: number, op: string): number | undefined {
  if (threshold === 0 || value === 0 || Math.sign(value) !== Math.sign(threshold)) return undefined;
  const ratio = op.startsWith("<") ? threshold / value : value / threshold;
  return ratio > 1 ? ratio : undefined;
}

const RANK = { critical: 0, warn: 1, info: 2 } as const;

/** The gravest first; within one severity the strongest evidence first. */
export function bySeverity<T extends { severity: keyof typeof RANK; grade: string }>(
  found: readonly T[],
): T[] {
  const grades = ["direct", "mechanism", "correlational", "context"];
  return [...found].sort(
    (x, y) => RANK[x.severity] - RANK[y.severity] || grades.indexOf(x.grade) - grades.indexOf(y.grade),
  );
}

/** Rules that lack the same thing stand together: one reason, one thing to do. */
export function groupedBy<T>(items: readonly T[], key: (item: T) => string): [string, T[]][] {
  const out = new Map<string, T[]>();
  for (const item of items) out.set(key(item), [...(out.get(key(item)) ?? []), item]);
  return [...out].sort(([, x], [, y]) => y.length - x.length);
}
