import { keepPreviousData, queryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { RequestBody } from "../../client/paths";
import type { components } from "../../client/schema";
import type { Heat } from "../../core/charts/heat";
import { isBuilt } from "../../core/profiles/difference";
import { patternOf, zoomWithin } from "../../core/profiles/flame";
import { get, post } from "../../lib/api";
import { keys } from "../../lib/queries";
import type { ComparisonParams } from "./comparison/state";
import type { Changes, Filter } from "./filter";

type Schemas = components["schemas"];

export type FunctionRow = Schemas["FunctionRowResponse"];
export type Facets = Schemas["ProfileFacetsResponse"];
export type SampleTracks = Schemas["SampleTracksResponse"];
export type Sandwich = Schemas["SandwichResponse"];
export type UnnamedModules = Schemas["UnnamedModulesResponse"];
export type Comparison = Schemas["ComparisonResponse"];
export type FunctionChange = Schemas["ComparedFunctionResponse"];

const waiting = (state: string | undefined) => state === "queued" || state === "running";
const POLL_MS = 1000;

export const profileQuery = (id: string) =>
  queryOptions({ queryKey: [...keys.profiles, id], queryFn: () => get(`/profiles/${id}`) });

export const useProfile = (id: string) =>
  useQuery({
    ...profileQuery(id),
    refetchInterval: (query) => (waiting(query.state.data?.state) ? POLL_MS : false),
  });

/** Filter of the samples, and transformations of their stacks. */
export type Selection = Filter & Changes;

/** Visible part of a tree. `width` is in px: the server omits frames that would be narrower than half a pixel. */
export interface TreeView {
  width: number;
  path: readonly string[];
  root?: number | undefined;
  callers: boolean;
}

export const treeQuery = (id: string, selection: Selection, view: TreeView) =>
  queryOptions({
    queryKey: [...keys.profiles, id, "tree", selection, view],
    queryFn: ({ signal }) =>
      get(
        `/profiles/${id}/tree`,
        {
          ...selection,
          width: view.width,
          path: view.path.length > 0 ? [...view.path] : undefined,
          root: view.path.length > 0 ? undefined : view.root,
          inverted: view.callers ? true : undefined,
        },
        signal,
      ),
  });

export const useTree = (id: string, selection: Selection, view: TreeView, enabled: boolean) =>
  useQuery({
    ...treeQuery(id, selection, view),
    enabled,
    placeholderData: (present, query) => {
      if (!present || !query || !isSameView(query.queryKey.slice(-2), [selection, view])) return present;
      return zoomWithin(present, view.path) ?? present;
    },
  });

/** Return whether two tree requests differ at most in their zoom (`path`, `root`). */
const isSameView = (before: readonly unknown[], now: readonly unknown[]): boolean => {
  const withoutZoom = (parts: readonly unknown[]) =>
    JSON.stringify(parts, (key, value) => (key === "path" || key === "root" ? undefined : value));
  return withoutZoom(before) === withoutZoom(now);
};

export const useSandwich = (id: string, selection: Selection, fn: string, width: number, enabled: boolean) =>
  useQuery({
    queryKey: [...keys.profiles, id, "sandwich", selection, fn, width],
    queryFn: ({ signal }) => get(`/profiles/${id}/sandwich`, { ...selection, function: fn, width }, signal),
    enabled: enabled && fn !== "" && width > 0,
    placeholderData: keepPreviousData,
  });

const TRACK_BINS = 240;

/** Load samples per track over the whole time, like the heat map: the brush is an overlay on both. */
export const useSampleTracks = (
  id: string,
  filter: Filter,
  by: "thread" | "process" | "cpu",
  enabled: boolean,
) =>
  useQuery({
    queryKey: [...keys.profiles, id, "tracks", { ...filter, from_ns: undefined, to_ns: undefined }, by],
    queryFn: ({ signal }) =>
      get(
        `/profiles/${id}/tracks`,
        { ...filter, from_ns: undefined, to_ns: undefined, by, bins: TRACK_BINS },
        signal,
      ),
    enabled,
    placeholderData: keepPreviousData,
  });

export const useUnnamed = (id: string, filter: Filter, enabled: boolean) =>
  useQuery({
    queryKey: [...keys.profiles, id, "unnamed", filter],
    queryFn: ({ signal }) => get(`/profiles/${id}/unnamed`, { ...filter }, signal),
    enabled,
    placeholderData: keepPreviousData,
  });

export const useFunctions = (id: string, filter: Selection, enabled: boolean) =>
  useQuery({
    queryKey: [...keys.profiles, id, "table", filter],
    queryFn: ({ signal }) => get(`/profiles/${id}/table`, { ...filter }, signal),
    enabled,
    placeholderData: keepPreviousData,
  });

const HEAVIEST = 6;

/** Load the heaviest functions. Enable this after the tree has loaded, so that the flame graph does not wait. */
export const useHeaviest = (id: string, filter: Selection, enabled: boolean) =>
  useQuery({
    queryKey: [...keys.profiles, id, "table", filter, HEAVIEST],
    queryFn: ({ signal }) => get(`/profiles/${id}/table`, { ...filter, limit: HEAVIEST }, signal),
    enabled,
    placeholderData: keepPreviousData,
  });

export const useSearchMatches = (id: string, filter: Selection, q: string, enabled: boolean) =>
  useQuery({
    queryKey: [...keys.profiles, id, "search", filter, q],
    queryFn: ({ signal }) =>
      get(
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
    queryFn: () => get(`/profiles/${id}/facets`, { from_ns: filter.from_ns, to_ns: filter.to_ns }),
    enabled,
    placeholderData: keepPreviousData,
  });

const HEAT_ROWS = 10;
const PER_CELL = 4;

/** Return the column count for about `PER_CELL` samples per cell; with more columns, the sampling period is visible. */
const heatColumns = (samples: number): number =>
  Math.min(240, Math.max(12, Math.round(samples / HEAT_ROWS / PER_CELL)));

/** Load the heat map of samples over time, without idle CPUs. The server's `bin_ns` is a column's length. */
export const useHeat = (id: string, filter: Filter, samples: number, enabled: boolean) =>
  useQuery({
    queryKey: [...keys.profiles, id, "heat", { ...filter, from_ns: undefined, to_ns: undefined }],
    queryFn: async (): Promise<Heat> => {
      const heat = await get(`/profiles/${id}/heat`, {
        ...filter,
        from_ns: undefined,
        to_ns: undefined,
        hide_idle: true,
        bins: heatColumns(samples),
        rows: HEAT_ROWS,
      });
      return { t0Ns: heat.t0_ns, colNs: heat.bin_ns, rows: heat.rows.length, counts: heat.rows };
    },
    enabled,
    placeholderData: keepPreviousData,
  });

export const useComparison = (id: string) =>
  useQuery({
    queryKey: ["diffs", id],
    queryFn: () => get(`/comparisons/${id}`),
    refetchInterval: ({ state }) => (state.data && !isBuilt(state.data) ? POLL_MS : false),
  });

export const useComparisonTree = (
  id: string,
  params: ComparisonParams | undefined,
  view: { width: number; root?: number | undefined; width_of: "a" | "b" },
) =>
  useQuery({
    queryKey: ["diffs", id, "tree", params, view],
    queryFn: ({ signal }) => get(`/comparisons/${id}/tree`, { ...params, ...view }, signal),
    enabled: params !== undefined && view.width > 0,
    placeholderData: keepPreviousData,
  });

export const useComparisonFunctions = (id: string, params: ComparisonParams) =>
  useQuery({
    queryKey: ["diffs", id, "functions", params],
    queryFn: ({ signal }) => get(`/comparisons/${id}/functions`, { ...params }, signal),
    placeholderData: keepPreviousData,
  });

/** Load the number of requests in the access logs of both runs. */
export const useComparisonWork = (id: string, enabled: boolean) =>
  useQuery({
    queryKey: ["diffs", id, "work"],
    queryFn: () => get(`/comparisons/${id}/work`),
    enabled,
  });

export function useCreateComparison() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: RequestBody<"post", "/comparisons">) =>
      post("/comparisons", body, crypto.randomUUID()),
    onSuccess: (diff) => client.setQueryData(["diffs", diff.id], diff),
  });
}
