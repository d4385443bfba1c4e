/** Rows and cells of the fleet page: states, ages, order, grouping, keyboard navigation and comparison of hosts. */

export const RESOURCES = ["cpu", "memory", "disk", "network", "application", "kernel"] as const;
export const USE_CATEGORIES = ["utilization", "saturation", "errors"] as const;
export type Resource = (typeof RESOURCES)[number];
export type UseCategory = (typeof USE_CATEGORIES)[number];
export type ColumnId = `${Resource}.${UseCategory}`;

/** Columns of the USE grid, in display order. */
export const COLUMNS: readonly ColumnId[] = RESOURCES.flatMap((resource) =>
  USE_CATEGORIES.map((letter): ColumnId => `${resource}.${letter}`),
);

export type Severity = "info" | "warn" | "critical";

export interface RuleResultLike {
  readonly rule: string;
  readonly state: "matched" | "inconclusive" | "not_matched";
  readonly severity: Severity;
  /** Index in the runs of the host. */
  readonly run_index: number;
}

export interface HostLike {
  readonly id: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly runs: readonly { readonly at: string }[];
  readonly worst: Severity | null;
}

/** State of a cell: the severity of its match, or why there is no match. */
export type CellState = Severity | "inconclusive" | "not_matched" | "absent";

export const cellState = (result: RuleResultLike | undefined): CellState =>
  result === undefined ? "absent" : result.state === "matched" ? result.severity : result.state;

/** Return the age in ms of the run of a result, or undefined without a run. `now` is the time of the server. */
export function resultAgeMs(
  host: HostLike,
  result: RuleResultLike | undefined,
  now: string,
): number | undefined {
  const run = host.runs[result?.run_index ?? 0];
  return run && Math.max(0, Date.parse(now) - Date.parse(run.at));
}

/** Return an age rounded down to its largest unit, such as `2 h`. */
export function formatRoughAge(ms: number): string {
  const steps = [
    [86_400_000, "d"],
    [3_600_000, "h"],
    [60_000, "min"],
  ] as const;
  for (const [size, unit] of steps) if (ms >= size) return `${Math.floor(ms / size)}\u2009${unit}`;
  return `${Math.floor(ms / 1000)}\u2009s`;
}

const WEIGHT: Record<CellState, number> = {
  critical: 1_000_000,
  warn: 1000,
  info: 10,
  inconclusive: 1,
  not_matched: 0,
  absent: 0,
};

/** Return the severity score of a host. A critical cell outweighs all warnings. A host without a run scores -1. */
export function computeSeverityScore(host: HostLike, results: readonly RuleResultLike[]): number {
  if (host.runs.length === 0) return -1;
  return results.reduce((sum, ruleResult) => sum + WEIGHT[cellState(ruleResult)], 0);
}

/** Return whether the search text is part of the name of a host or of a `label=value`. */
export function matchesHostSearch(host: HostLike, typed: string): boolean {
  const needle = typed.trim().toLowerCase();
  if (needle === "") return true;
  if (host.name.toLowerCase().includes(needle)) return true;
  return Object.entries(host.labels).some(([name, value]) =>
    `${name}=${value}`.toLowerCase().includes(needle.replace(":", "=")),
  );
}

export const SORTS = ["worst", "name", "age"] as const;
export type Sort = (typeof SORTS)[number];

/** Return the hosts in the selected order, equal hosts by name. */
export function sortHosts<H extends HostLike>(
  hosts: readonly H[],
  sort: Sort,
  results: (host: H) => readonly RuleResultLike[],
): H[] {
  const weight = new Map(hosts.map((host) => [host.id, computeSeverityScore(host, results(host))]));
  const newest = (item: H) => (item.runs[0] ? Date.parse(item.runs[0].at) : 0);
  const byName = (x: H, y: H) => x.name.localeCompare(y.name, "en", { numeric: true });
  if (sort === "worst")
    return [...hosts].sort((x, y) => (weight.get(y.id) ?? 0) - (weight.get(x.id) ?? 0) || byName(x, y));
  return [...hosts].sort((x, y) => (sort === "age" ? newest(x) - newest(y) : 0) || byName(x, y));
}

/** Keep the order of known rows and append new rows. `stale` is true if sorting again would change the order. */
export function keepOrder<H extends { id: string }>(
  before: readonly string[],
  now: readonly H[],
): { rows: H[]; stale: boolean } {
  const position = new Map(before.map((id, at) => [id, at]));
  const last = before.length;
  const rows = now
    .map((item, at) => ({ item, at: position.get(item.id) ?? last + at }))
    .sort((x, y) => x.at - y.at)
    .map(({ item }) => item);
  return { rows, stale: rows.some((row, at) => row.id !== now[at]?.id) };
}

export type Row<H> =
  | {
      readonly kind: "group";
      readonly id: string;
      readonly value: string | null;
      readonly hosts: readonly H[];
    }
  | { readonly kind: "host"; readonly id: string; readonly host: H };

/** Return the hosts as rows, grouped by the value of `label`. Groups have the order of their first host. */
export function groupHostRows<H extends HostLike>(hosts: readonly H[], label: string): Row<H>[] {
  if (label === "") return hosts.map((host) => ({ kind: "host", id: host.id, host }));
  const groups = new Map<string | null, H[]>();
  for (const host of hosts) {
    const value = host.labels[label] ?? null;
    groups.set(value, [...(groups.get(value) ?? []), host]);
  }
  return [...groups].flatMap(([value, members]): Row<H>[] => [
    { kind: "group", id: `group ${value ?? ""}`, value, hosts: members },
    ...members.map((host): Row<H> => ({ kind: "host", id: host.id, host })),
  ]);
}

/** Position of a cell; column 0 is the name of the host. */
export interface CellPosition {
  readonly row: number;
  readonly column: number;
}

/** Return the cell that a key moves to, or undefined for other keys. Unselectable rows (headings) are skipped. */
export function moveCell(
  at: CellPosition,
  key: string,
  size: { rows: number; columns: number; page: number },
  isSelectable: (row: number) => boolean,
): CellPosition | undefined {
  const last = size.columns - 1;
  const down = (from: number, by: number): CellPosition => {
    const step = Math.sign(by);
    let row = Math.min(size.rows - 1, Math.max(0, from + by));
    while (row >= 0 && row < size.rows && !isSelectable(row)) row += step;
    if (row < 0 || row >= size.rows) return at;
    return { row, column: at.column };
  };
  switch (key) {
    case "ArrowRight":
      return { row: at.row, column: Math.min(last, at.column + 1) };
    case "ArrowLeft":
      return { row: at.row, column: Math.max(0, at.column - 1) };
    case "Home":
      return { row: at.row, column: 0 };
    case "End":
      return { row: at.row, column: last };
    case "ArrowDown":
      return down(at.row, 1);
    case "ArrowUp":
      return down(at.row, -1);
    case "PageDown":
      return down(at.row, size.page);
    case "PageUp":
      return down(at.row, -size.page);
    default:
      return undefined;
  }
}

export interface MatrixHost {
  readonly id: string;
  readonly matched: readonly { readonly rule: string }[];
  readonly inconclusive: readonly string[];
  readonly not_matched: readonly string[];
}

/** Result of a rule on bad and good hosts: the number of matches, and of hosts that evaluated it. */
export interface RuleDistinction {
  readonly rule: string;
  readonly bad: readonly [matched: number, evaluated: number];
  readonly good: readonly [matched: number, evaluated: number];
  /** Match share of bad hosts minus that of good hosts: 1 on all bad and no good hosts, -1 on all good hosts only. */
  readonly distinction: number;
}

/**
 * Return the rules that matched on a host, those that best distinguish bad from good hosts first. A host that did not
 * evaluate a rule, or for which it was inconclusive, is not counted.
 */
export function rankDistinctiveRules(
  hosts: readonly MatrixHost[],
  bad: ReadonlySet<string>,
): RuleDistinction[] {
  const counts = new Map<string, { bad: [number, number]; good: [number, number] }>();
  const count = (rule: string, isBad: boolean, matched: number) => {
    const sides = counts.get(rule) ?? { bad: [0, 0], good: [0, 0] };
    counts.set(rule, sides);
    const side = isBad ? sides.bad : sides.good;
    side[0] += matched;
    side[1] += 1;
  };
  for (const host of hosts) {
    const isBad = bad.has(host.id);
    for (const { rule } of host.matched) count(rule, isBad, 1);
    for (const rule of host.not_matched) count(rule, isBad, 0);
  }
  const share = ([matched, evaluated]: readonly [number, number]) =>
    evaluated === 0 ? 0 : matched / evaluated;
  return [...counts]
    .map(([rule, sides]) => ({ rule, ...sides, distinction: share(sides.bad) - share(sides.good) }))
    .filter((item) => item.bad[0] + item.good[0] > 0)
    .sort((x, y) => y.distinction - x.distinction || y.bad[0] - x.bad[0] || x.rule.localeCompare(y.rule));
}

/** Return the level (0..`most`-1) of each dot above the line, so that few dots of this size overlap. */
export function assignDotLevels(xs: readonly number[], size: number, most: number): number[] {
  const dotsInBin = new Map<number, number>();
  return xs.map((x) => {
    const bin = Math.round(x / size);
    const at = dotsInBin.get(bin) ?? 0;
    dotsInBin.set(bin, at + 1);
    return at % most;
  });
}

/** The server limits z to this value. */
const MOST_Z = 100;

/** Return a robust z as text with sign and one decimal. */
export const formatRobustZ = (z: number): string =>
  Math.abs(z) >= MOST_Z ? (z > 0 ? "≥ 100" : "≤ -100") : `${z > 0 ? "+" : ""}${z.toFixed(1)}`;

/** Return the distinct labels of all hosts as `name:value`, most frequent first. */
export function labelPairs(hosts: readonly Pick<HostLike, "labels">[]): string[] {
  const counts = new Map<string, number>();
  for (const host of hosts)
    for (const [name, value] of Object.entries(host.labels)) {
      const pair = `${name}:${value}`;
      counts.set(pair, (counts.get(pair) ?? 0) + 1);
    }
  return [...counts].sort((x, y) => y[1] - x[1] || x[0].localeCompare(y[0])).map(([pair]) => pair);
}

/** Return whether a host has the label `name:value`. An empty text matches all hosts. */
export function hasLabel(host: Pick<HostLike, "labels">, pair: string): boolean {
  if (pair === "") return true;
  const colon = pair.indexOf(":");
  return host.labels[pair.slice(0, colon)] === pair.slice(colon + 1);
}

/** Return the distinct label names of all hosts, most frequent first. */
export function labelNames(hosts: readonly Pick<HostLike, "labels">[]): string[] {
  const counts = new Map<string, number>();
  for (const host of hosts)
    for (const name of Object.keys(host.labels)) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].sort((x, y) => y[1] - x[1] || x[0].localeCompare(y[0])).map(([name]) => name);
}
