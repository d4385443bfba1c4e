/** The fleet as rows and cells: what is worst, what is old, in which order, and where an arrow key leads. */

export const RESOURCES = ["cpu", "memory", "disk", "network", "application", "kernel"] as const;
export const LETTERS = ["utilisation", "saturation", "errors"] as const;
export type Resource = (typeof RESOURCES)[number];
export type Letter = (typeof LETTERS)[number];
export type ColumnId = `${Resource}.${Letter}`;

/** The columns of the USE grid, in their order. */
export const COLUMNS: readonly ColumnId[] = RESOURCES.flatMap((resource) =>
  LETTERS.map((letter): ColumnId => `${resource}.${letter}`),
);

export type Severity = "info" | "warn" | "critical";

export interface WordLike {
  readonly rule: string;
  readonly state: "fired" | "inconclusive" | "quiet";
  readonly severity: Severity;
  /** A place in the host's looks. */
  readonly look: number;
}

export interface HostLike {
  readonly id: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly looks: readonly { readonly at: string }[];
  readonly worst: Severity | null;
}

/** How a cell looks: what fired by its severity, and the three ways in which nothing fired. */
export type CellLook = Severity | "inconclusive" | "quiet" | "absent";

export const cellLook = (word: WordLike | undefined): CellLook =>
  word === undefined ? "absent" : word.state === "fired" ? word.severity : word.state;

/** How long ago the look of a word was, by the server's clock; undefined where there was none. */
export function ageMs(host: HostLike, word: WordLike | undefined, now: string): number | undefined {
  const look = host.looks[word?.look ?? 0];
  return look && Math.max(0, Date.parse(now) - Date.parse(look.at));
}

/** An age in its largest unit, for where there is room for no more. */
export function roughAge(ms: number): string {
  const steps = [
    [86_400_000, "d"],
    [3_600_000, "h"],
    [60_000, "min"],
  ] as const;
  for (const [size, unit] of steps) if (ms >= size) return `${Math.floor(ms / size)}\u2009${unit}`;
  return `${Math.floor(ms / 1000)}\u2009s`;
}

const WEIGHT: Record<CellLook, number> = {
  critical: 1_000_000,
  warn: 1000,
  info: 10,
  inconclusive: 1,
  quiet: 0,
  absent: 0,
};

/** How bad a host is: one critical cell weighs more than any number of warnings. Not looked at is below well. */
export function badness(host: HostLike, words: readonly WordLike[]): number {
  if (host.looks.length === 0) return -1;
  return words.reduce((sum, one) => sum + WEIGHT[cellLook(one)], 0);
}

/** Whether a host is meant by what was typed: part of its name, or of `label=value`. */
export function meant(host: HostLike, typed: string): boolean {
  const needle = typed.trim().toLowerCase();
  if (needle === "") return true;
  if (host.name.toLowerCase().includes(needle)) return true;
  return Object.entries(host.labels).some(([name, value]) =>
    `${name}=${value}`.toLowerCase().includes(needle.replace(":", "=")),
  );
}

export const SORTS = ["worst", "name", "age"] as const;
export type Sort = (typeof SORTS)[number];

/** Hosts in the order that was asked for; equals by name. */
export function sorted<H extends HostLike>(
  hosts: readonly H[],
  how: Sort,
  words: (host: H) => readonly WordLike[],
): H[] {
  const weight = new Map(hosts.map((one) => [one.id, badness(one, words(one))]));
  const newest = (one: H) => (one.looks[0] ? Date.parse(one.looks[0].at) : 0);
  const byName = (x: H, y: H) => x.name.localeCompare(y.name, "en", { numeric: true });
  if (how === "worst")
    return [...hosts].sort((x, y) => (weight.get(y.id) ?? 0) - (weight.get(x.id) ?? 0) || byName(x, y));
  return [...hosts].sort((x, y) => (how === "age" ? newest(x) - newest(y) : 0) || byName(x, y));
}

/**
 * The order that stands, for what came since: known rows stay where they are, new ones follow. `stale` says whether the
 * order that was asked for would be another one by now.
 */
export function keepOrder<H extends { id: string }>(
  before: readonly string[],
  now: readonly H[],
): { rows: H[]; stale: boolean } {
  const place = new Map(before.map((id, at) => [id, at]));
  const last = before.length;
  const rows = now
    .map((one, at) => ({ one, at: place.get(one.id) ?? last + at }))
    .sort((x, y) => x.at - y.at)
    .map(({ one }) => one);
  return { rows, stale: rows.some((one, at) => one.id !== now[at]?.id) };
}

export type Row<H> =
  | {
      readonly kind: "group";
      readonly id: string;
      readonly value: string | null;
      readonly hosts: readonly H[];
    }
  | { readonly kind: "host"; readonly id: string; readonly host: H };

/** Rows under their label's values, groups in the order of their first host; without a label there are no groups. */
export function rowsOf<H extends HostLike>(hosts: readonly H[], label: string): Row<H>[] {
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

/** The rows to be drawn: those in view and a few around them. */
export function windowOf(
  top: number,
  height: number,
  rowHeight: number,
  count: number,
  around = 6,
): [number, number] {
  const from = Math.max(0, Math.floor(top / rowHeight) - around);
  return [Math.min(from, count), Math.min(count, Math.ceil((top + height) / rowHeight) + around)];
}

/** A cell by its row and column; column 0 is the name. */
export interface Place {
  readonly row: number;
  readonly column: number;
}

/** Where a key leads; undefined for a key that does not move. Rows that `stands` refuses (headings) are passed over. */
export function stepped(
  at: Place,
  key: string,
  size: { rows: number; columns: number; page: number },
  stands: (row: number) => boolean,
): Place | undefined {
  const last = size.columns - 1;
  const down = (from: number, by: number): Place => {
    const way = Math.sign(by);
    let row = Math.min(size.rows - 1, Math.max(0, from + by));
    while (row >= 0 && row < size.rows && !stands(row)) row += way;
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
  readonly fired: readonly { readonly rule: string }[];
  readonly inconclusive: readonly string[];
  readonly quiet: readonly string[];
}

/** One rule over bad and good hosts: for how many it fired, of how many that were asked. */
export interface Commonness {
  readonly rule: string;
  readonly bad: readonly [fired: number, asked: number];
  readonly good: readonly [fired: number, asked: number];
  /** 1: with every bad host and no good one; 0: with both alike; -1: with the good ones only. */
  readonly tells: number;
}

/**
 * What the bad ones have in common and the good ones have not, the most telling first. A host on which a rule was
 * not asked counts for neither side: not collected is no "no".
 */
export function commonness(hosts: readonly MatrixHost[], bad: ReadonlySet<string>): Commonness[] {
  const counts = new Map<string, { bad: [number, number]; good: [number, number] }>();
  const count = (rule: string, isBad: boolean, fired: number) => {
    const found = counts.get(rule) ?? { bad: [0, 0], good: [0, 0] };
    counts.set(rule, found);
    const side = isBad ? found.bad : found.good;
    side[0] += fired;
    side[1] += 1;
  };
  for (const host of hosts) {
    const isBad = bad.has(host.id);
    for (const { rule } of host.fired) count(rule, isBad, 1);
    for (const rule of host.quiet) count(rule, isBad, 0);
  }
  const share = ([fired, asked]: readonly [number, number]) => (asked === 0 ? 0 : fired / asked);
  return [...counts]
    .map(([rule, sides]) => ({ rule, ...sides, tells: share(sides.bad) - share(sides.good) }))
    .filter((one) => one.bad[0] + one.good[0] > 0)
    .sort((x, y) => y.tells - x.tells || y.bad[0] - x.bad[0] || x.rule.localeCompare(y.rule));
}

/** Where dots of one size stand that would cover each other: how many places above the line, for each x. */
export function swarm(xs: readonly number[], size: number, most: number): number[] {
  const taken = new Map<number, number>();
  return xs.map((x) => {
    const bin = Math.round(x / size);
    const at = taken.get(bin) ?? 0;
    taken.set(bin, at + 1);
    return at % most;
  });
}

/** The server draws what is infinitely unusual at this z. */
const MOST_Z = 100;

/** A robust z with its sign, three digits at most. */
export const zText = (z: number): string =>
  Math.abs(z) >= MOST_Z ? (z > 0 ? "≥ 100" : "≤ -100") : `${z > 0 ? "+" : ""}${z.toFixed(1)}`;

/** Every `name:value` among the labels, the most frequent first. */
export function labelPairs(hosts: readonly Pick<HostLike, "labels">[]): string[] {
  const counts = new Map<string, number>();
  for (const host of hosts)
    for (const [name, value] of Object.entries(host.labels)) {
      const pair = `${name}:${value}`;
      counts.set(pair, (counts.get(pair) ?? 0) + 1);
    }
  return [...counts].sort((x, y) => y[1] - x[1] || x[0].localeCompare(y[0])).map(([pair]) => pair);
}

/** Whether a host carries `name:value`; the empty text is carried by all. */
export function carries(host: Pick<HostLike, "labels">, pair: string): boolean {
  if (pair === "") return true;
  const colon = pair.indexOf(":");
  return host.labels[pair.slice(0, colon)] === pair.slice(colon + 1);
}

/** Every label name, the most frequent first. */
export function labelNames(hosts: readonly Pick<HostLike, "labels">[]): string[] {
  const counts = new Map<string, number>();
  for (const host of hosts)
    for (const name of Object.keys(host.labels)) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].sort((x, y) => y[1] - x[1] || x[0].localeCompare(y[0])).map(([name]) => name);
}
