import type { Search } from "../../../core/search";
import type { Range } from "../../../core/time/range";
import { rangeField, textField } from "../../../lib/urlState";
import type { Facets } from "../api";
import type { Filter } from "../filter";

/** What is compared, in the address: profiles, ranges, processes by name, and threads by name or number. */
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

export interface Side {
  profile: string;
  range: Range | undefined;
  /** Name of processes; empty for all. */
  process: string;
  /** `name:worker`, or `tid:42`; empty for all. */
  thread: string;
}

type State = { [K in keyof typeof SIDE_FIELDS]: ReturnType<(typeof SIDE_FIELDS)[K]["parse"]> };

export const sideOf = (state: State, side: "a" | "b"): Side =>
  side === "a"
    ? { profile: state.ap, range: state.a, process: state.ac, thread: state.at }
    : { profile: state.bp, range: state.b, process: state.bc, thread: state.bt };

export function patchOf(side: "a" | "b", change: Partial<Side>): Partial<State> {
  const names = { profile: `${side}p`, range: side, process: `${side}c`, thread: `${side}t` };
  return Object.fromEntries(
    Object.entries(change).map(([key, value]) => [names[key as keyof Side], value]),
  ) as Partial<State>;
}

const THREAD = /^(name|tid):(.+)$/s;
const single = (text: string | undefined) => (text === undefined ? undefined : [Number(text)]);

/**
 * The samples of a side. What the profile page was limited to (`comm`, `pid`, `tid`, `cpu`, `cg`) holds for B; names of
 * processes and control groups hold for A too, while their numbers mean nothing in another run.
 */
export function filterOf(side: Side, name: "a" | "b", search: Search): Filter {
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
    cpu: single(search.cpu),
    pid: single(search.pid),
    tid: filter.tid ?? single(search.tid),
  };
}

export interface Choice {
  value: string;
  label: string;
  weight: number;
}

/** Processes by name, heaviest first. */
export function processChoices(facets: Facets | undefined): Choice[] {
  const weights = new Map<string, number>();
  for (const { comm, weight } of facets?.processes ?? [])
    weights.set(comm, (weights.get(comm) ?? 0) + weight);
  return [...weights].map(([comm, weight]) => ({ value: comm, label: comm, weight })).sort(heaviest);
}

/** Threads of the chosen processes: all of a name, and each where a name has several; heaviest first. */
export function threadChoices(facets: Facets | undefined, process: string): Choice[] {
  const pids = new Set(facets?.processes.filter(({ comm }) => comm === process).map(({ pid }) => pid));
  const threads = (facets?.threads ?? []).filter(({ pid }) => process === "" || pids.has(pid));
  const names = new Map<string, typeof threads>();
  for (const thread of threads) names.set(thread.comm, [...(names.get(thread.comm) ?? []), thread]);
  return [...names]
    .flatMap(([name, of]) => [
      { value: `name:${name}`, label: of.length > 1 ? `${name} × ${of.length}` : name, weight: sum(of) },
      ...(of.length > 1
        ? of.map(({ tid, weight }) => ({ value: `tid:${tid}`, label: `${name} ${tid}`, weight }))
        : []),
    ])
    .sort(heaviest);
}

const heaviest = (x: Choice, y: Choice): number => y.weight - x.weight;
const sum = (threads: readonly { weight: number }[]): number =>
  threads.reduce((s, { weight }) => s + weight, 0);
