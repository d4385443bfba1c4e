import type { Search } from "../../../core/search";
import type { Range } from "../../../core/time/range";
import { rangeField, textField } from "../../../lib/urlState";
import type { Facets } from "../api";
import type { Filter } from "../filter";

/** URL parameters of both sides: profile, time range, process name (`ac`, `bc`), thread name or TID (`at`, `bt`). */
export const SIDE_FIELDS = {
  ap: textField,
  bp: textField,
  a: rangeField,
  b: rangeField,
  ac: textField,
  bc: textField,
  at: textField,
  bt: textField,
};

export interface ComparisonSide {
  profile: string;
  range: Range | undefined;
  /** Process name; empty for all processes. */
  process: string;
  /** `name:worker` or `tid:42`; empty for all threads. */
  thread: string;
}

type State = { [K in keyof typeof SIDE_FIELDS]: ReturnType<(typeof SIDE_FIELDS)[K]["parse"]> };

export const readSide = (state: State, side: "a" | "b"): ComparisonSide =>
  side === "a"
    ? { profile: state.ap, range: state.a, process: state.ac, thread: state.at }
    : { profile: state.bp, range: state.b, process: state.bc, thread: state.bt };

export function toSidePatch(side: "a" | "b", change: Partial<ComparisonSide>): Partial<State> {
  const names = { profile: `${side}p`, range: side, process: `${side}c`, thread: `${side}t` };
  return Object.fromEntries(
    Object.entries(change).map(([key, value]) => [names[key as keyof ComparisonSide], value]),
  ) as Partial<State>;
}

const THREAD = /^(name|tid):(.+)$/s;
const toSingleNumber = (text: string | undefined) => (text === undefined ? undefined : [Number(text)]);

/**
 * Return the sample filter of a side. The filter of the profile page (`comm`, `pid`, `tid`, `cpu`, `cg`) applies to B.
 * Process names and control groups also apply to A; PIDs, TIDs and CPU numbers do not carry over to another run.
 */
export function toSideFilter(side: ComparisonSide, name: "a" | "b", search: Search): Filter {
  const [, kind, value] = THREAD.exec(side.thread) ?? [];
  const process = side.process || search.comm;
  const filter: Filter = {
    from_ns: side.range ? Math.round(side.range.from) : undefined,
    to_ns: side.range ? Math.round(side.range.to) : undefined,
    comm: process ? [process] : undefined,
    thread: kind === "name" && value ? [value] : undefined,
    tid: kind === "tid" && value ? [Number(value)] : undefined,
    hide_idle: search.idle === "1" || undefined,
    cgroup: search.cg ? [search.cg] : undefined,
    softirq_only: search.softirq === "1" || undefined,
  };
  if (name === "a") return filter;
  return {
    ...filter,
    cpu: toSingleNumber(search.cpu),
    pid: toSingleNumber(search.pid),
    tid: filter.tid ?? toSingleNumber(search.tid),
  };
}

export interface FilterChoice {
  value: string;
  label: string;
  weight: number;
}

/** Return the process names, heaviest first. */
export function listProcessChoices(facets: Facets | undefined): FilterChoice[] {
  const weights = new Map<string, number>();
  for (const { comm, weight } of facets?.processes ?? [])
    weights.set(comm, (weights.get(comm) ?? 0) + weight);
  return [...weights].map(([comm, weight]) => ({ value: comm, label: comm, weight })).sort(compareByWeight);
}

/** Return the thread names of a process, and each thread of a name with several threads; heaviest first. */
export function listThreadChoices(facets: Facets | undefined, process: string): FilterChoice[] {
  const pids = new Set(facets?.processes.filter(({ comm }) => comm === process).map(({ pid }) => pid));
  const threads = (facets?.threads ?? []).filter(({ pid }) => process === "" || pids.has(pid));
  const names = new Map<string, typeof threads>();
  for (const thread of threads) names.set(thread.comm, [...(names.get(thread.comm) ?? []), thread]);
  return [...names]
    .flatMap(([name, of]) => [
      {
        value: `name:${name}`,
        label: of.length > 1 ? `${name} × ${of.length}` : name,
        weight: sumWeights(of),
      },
      ...(of.length > 1
        ? of.map(({ tid, weight }) => ({ value: `tid:${tid}`, label: `${name} ${tid}`, weight }))
        : []),
    ])
    .sort(compareByWeight);
}

const compareByWeight = (x: FilterChoice, y: FilterChoice): number => y.weight - x.weight;
const sumWeights = (threads: readonly { weight: number }[]): number =>
  threads.reduce((s, { weight }) => s + weight, 0);
