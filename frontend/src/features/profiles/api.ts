import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { Profile } from "../../client/types";
import { type DiffState, type DiffTree, isBuilt } from "../../core/difference";
import type { FlameNode, PathStep } from "../../core/flame";
import type { Heat } from "../../core/heat";
import { get, post } from "../../lib/api";
import { keys } from "../../lib/queries";
import type { Filter } from "./filter";

export interface Tree {
  total: number;
  samples: number;
  pruned_weight: number;
  nodes_total: number;
  path?: PathStep[];
  tree: FlameNode;
}
export interface TopRow {
  frame: string;
  module: string;
  self: number;
  total: number;
}
export interface Facets {
  cpus: { cpu: number; weight: number }[];
  processes: { pid: number; comm: string; weight: number }[];
  threads: { tid: number; pid: number; comm: string; weight: number }[];
}
export interface Side {
  profile_id: string;
  filter: Filter;
}
export interface Diff extends DiffState {
  a: Side & DiffState["a"];
  b: Side & DiffState["b"];
  normalise: "share" | "absolute";
}

const waiting = (state: string | undefined) => state === "queued" || state === "running";
const POLL_MS = 1000;

export const useProfile = (id: string) =>
  useQuery({
    queryKey: [...keys.profiles, id],
    queryFn: () => get<Profile>(`/profiles/${id}`),
    refetchInterval: (query) => (waiting(query.state.data?.state) ? POLL_MS : false),
  });

/** `width` is the drawing's in px: the server leaves out what would be narrower than half a pixel. */
export const useTree = (
  id: string,
  filter: Filter,
  view: { width: number; root?: string | undefined; callers: boolean },
  enabled: boolean,
) =>
  useQuery({
    queryKey: [...keys.profiles, id, "tree", filter, view],
    queryFn: ({ signal }) =>
      get<Tree>(
        `/profiles/${id}/tree`,
        {
          ...filter,
          width: view.width,
          root: view.root,
          inverted: view.callers ? true : undefined,
        },
        signal,
      ),
    enabled: enabled && view.width > 0,
    placeholderData: keepPreviousData,
  });

export const useTop = (id: string, filter: Filter, enabled: boolean) =>
  useQuery({
    queryKey: [...keys.profiles, id, "table", filter],
    queryFn: ({ signal }) =>
      get<{ rows: TopRow[]; total: number }>(`/profiles/${id}/table`, { ...filter }, signal),
    enabled,
    placeholderData: keepPreviousData,
  });

/** A search between slashes is a pattern; anything else is a part of a name. */
export const patternOf = (q: string): string | undefined => /^\/(.+)\/$/.exec(q)?.[1];

export const useFound = (id: string, filter: Filter, q: string, enabled: boolean) =>
  useQuery({
    queryKey: [...keys.profiles, id, "search", filter, q],
    queryFn: ({ signal }) =>
      get<{ weight: number; share: number; nodes: (number | string)[] }>(
        `/profiles/${id}/search`,
        { ...filter, q: patternOf(q) ?? q, regex: patternOf(q) ? true : undefined },
        signal,
      ),
    enabled: enabled && q.length > 0,
    placeholderData: keepPreviousData,
  });

export const useFacets = (id: string, filter: Filter, enabled: boolean) =>
  useQuery({
    queryKey: [...keys.profiles, id, "facets", filter.from_ns, filter.to_ns],
    queryFn: () => get<Facets>(`/profiles/${id}/facets`, { from_ns: filter.from_ns, to_ns: filter.to_ns }),
    enabled,
    placeholderData: keepPreviousData,
  });

interface HeatAnswer {
  t0_ns: number;
  bin_ns: number;
  rows: number[][];
}

const HEAT_ROWS = 10;
const PER_CELL = 4;

/** As many columns as leave a few samples to each cell; more would draw the sampling clock. */
const heatColumns = (samples: number): number =>
  Math.min(240, Math.max(12, Math.round(samples / HEAT_ROWS / PER_CELL)));

/** Samples by time but for idle CPUs, which tick all the time. The server's `bin_ns` is a column's length. */
export const useHeat = (id: string, filter: Filter, samples: number, enabled: boolean) =>
  useQuery({
    queryKey: [...keys.profiles, id, "heat", { ...filter, from_ns: undefined, to_ns: undefined }],
    queryFn: async (): Promise<Heat> => {
      const answer = await get<HeatAnswer>(`/profiles/${id}/heat`, {
        ...filter,
        from_ns: undefined,
        to_ns: undefined,
        hide_idle: true,
        bins: heatColumns(samples),
        rows: HEAT_ROWS,
      });
      return { t0Ns: answer.t0_ns, colNs: answer.bin_ns, rows: answer.rows.length, counts: answer.rows };
    },
    enabled,
    placeholderData: keepPreviousData,
  });

export const useDiff = (id: string) =>
  useQuery({
    queryKey: ["diffs", id],
    queryFn: () => get<Diff>(`/diffs/${id}`),
    refetchInterval: ({ state }) => (state.data && !isBuilt(state.data) ? POLL_MS : false),
  });

export const useDiffTree = (
  id: string,
  view: { width: number; root?: string | undefined },
  enabled: boolean,
) =>
  useQuery({
    queryKey: ["diffs", id, "tree", view],
    queryFn: ({ signal }) =>
      get<DiffTree>(`/diffs/${id}/tree`, { width: view.width, root: view.root }, signal),
    enabled: enabled && view.width > 0,
    placeholderData: keepPreviousData,
  });

export function useCreateDiff() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: { a: Side; b: Side; normalise: "share" | "absolute" }) =>
      post<Diff>("/diffs", body, crypto.randomUUID()),
    onSuccess: (diff) => client.setQueryData(["diffs", diff.id], diff),
  });
}
