import { keepPreviousData, queryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { RequestBody } from "../../client/paths";
import type { components } from "../../client/schema";
import type { Heat } from "../../core/charts/heat";
import { isComparisonBuilt } from "../../core/profiles/difference";
import { parseSearchPattern, zoomLoadedTree } from "../../core/profiles/flame";
import type { Range } from "../../core/time/range";
import { get, post } from "../../lib/api";
import { queryKeys } from "../../lib/queries";
import type { ComparisonParams } from "./comparison/state";
import { type Filter, type Selection, type TreeView, toTreeQuery } from "./filter";

type Schemas = components["schemas"];

export type FunctionRow = Schemas["FunctionRowResponse"];
export type Facets = Schemas["ProfileFacetsResponse"];
export type SampleTracks = Schemas["SampleTracksResponse"];
export type TimeOrder = Schemas["TimeOrderResponse"];
export type Sandwich = Schemas["SandwichResponse"];
export type UnnamedModules = Schemas["UnnamedModulesResponse"];
export type Comparison = Schemas["ComparisonResponse"];
export type FunctionChange = Schemas["ComparedFunctionResponse"];

const isPending = (state: string | undefined) => state === "queued" || state === "running";
const POLL_MS = 1000;

export const profileQuery = (id: string) =>
  queryOptions({ queryKey: [...queryKeys.profiles, id], queryFn: () => get(`/profiles/${id}`) });

export const useProfile = (id: string) =>
  useQuery({
    ...profileQuery(id),
    refetchInterval: (query) => (isPending(query.state.data?.state) ? POLL_MS : false),
  });

export const treeQuery = (id: string, selection: Selection, view: TreeView) =>
  queryOptions({
    queryKey: [...queryKeys.profiles, id, "tree", selection, view],
    queryFn: ({ signal }) => get(`/profiles/${id}/tree`, toTreeQuery(selection, view), signal),
  });

export const useTree = (id: string, selection: Selection, view: TreeView, enabled: boolean) =>
  useQuery({
    ...treeQuery(id, selection, view),
    enabled,
    placeholderData: (present, query) => {
      if (!present || !query || !isSameView(query.queryKey.slice(-2), [selection, view])) return present;
      return zoomLoadedTree(present, view.path) ?? present;
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
    queryKey: [...queryKeys.profiles, id, "sandwich", selection, fn, width],
    queryFn: ({ signal }) => get(`/profiles/${id}/sandwich`, { ...selection, function: fn, width }, signal),
    enabled: enabled && fn !== "" && width > 0,
    placeholderData: keepPreviousData,
  });

export const useTimeOrder = (
  id: string,
  selection: Selection,
  by: "thread" | "cpu",
  width: number,
  enabled: boolean,
) =>
  useQuery({
    queryKey: [...queryKeys.profiles, id, "time-order", selection, by, width],
    queryFn: ({ signal }) => get(`/profiles/${id}/time-order`, { ...selection, by, width }, signal),
    enabled: enabled && width > 0,
    placeholderData: keepPreviousData,
  });

const TRACK_BINS = 240;
const MAX_RUN_PROFILES = 100;

/** Load samples per track over the whole time, like the heat map: the brush is an overlay on both. */
export const useSampleTracks = (
  id: string,
  filter: Filter,
  by: "thread" | "process" | "cpu",
  enabled: boolean,
) =>
  useQuery({
    queryKey: [...queryKeys.profiles, id, "tracks", { ...filter, from_ns: undefined, to_ns: undefined }, by],
    queryFn: ({ signal }) =>
      get(
        `/profiles/${id}/tracks`,
        { ...filter, from_ns: undefined, to_ns: undefined, by, bins: TRACK_BINS },
        signal,
      ),
    enabled,
    placeholderData: keepPreviousData,
  });

/** Load the ready recordings of the scheduler of a run, with their ranges of time. */
export const useRunSchedules = (runId: string) =>
  useQuery({
    queryKey: [...queryKeys.profiles, "schedules", runId],
    queryFn: async ({ signal }): Promise<{ id: string; range: Range }[]> => {
      const { items } = await get("/profiles", { run: runId, limit: MAX_RUN_PROFILES }, signal);
      return items
        .filter((item) => item.kind === "sched" && item.state === "ready")
        .map((item) => ({ id: item.id, range: { from: item.t0_ns ?? 0, to: (item.t1_ns ?? 0) + 1 } }));
    },
  });

export const useUnnamedModules = (id: string, filter: Filter, enabled: boolean) =>
  useQuery({
    queryKey: [...queryKeys.profiles, id, "unnamed", filter],
    queryFn: ({ signal }) => get(`/profiles/${id}/unnamed`, { ...filter }, signal),
    enabled,
    placeholderData: keepPreviousData,
  });

export const useFunctions = (id: string, filter: Selection, enabled: boolean) =>
  useQuery({
    queryKey: [...queryKeys.profiles, id, "table", filter],
    queryFn: ({ signal }) => get(`/profiles/${id}/table`, { ...filter }, signal),
    enabled,
    placeholderData: keepPreviousData,
  });

const HEAVIEST = 6;

/** Load the heaviest functions. Enable this after the tree has loaded, so that the flame graph does not wait. */
export const useHeaviestFunctions = (id: string, filter: Selection, enabled: boolean) =>
  useQuery({
    queryKey: [...queryKeys.profiles, id, "table", filter, HEAVIEST],
    queryFn: ({ signal }) => get(`/profiles/${id}/table`, { ...filter, limit: HEAVIEST }, signal),
    enabled,
    placeholderData: keepPreviousData,
  });

export const useSearchMatches = (id: string, filter: Selection, q: string, enabled: boolean) =>
  useQuery({
    queryKey: [...queryKeys.profiles, id, "search", filter, q],
    queryFn: ({ signal }) =>
      get(
        `/profiles/${id}/search`,
        { ...filter, q: parseSearchPattern(q) ?? q, regex: parseSearchPattern(q) ? true : undefined },
        signal,
      ),
    enabled: enabled && q.length > 0,
    placeholderData: keepPreviousData,
  });

export type Disassembly = Schemas["DisassemblyResponse"];

export const isBeingBuilt = (item: Disassembly): boolean => isPending(item.state);
export const isBeingFetched = (item: Disassembly): boolean => isPending(item.fetch_state ?? undefined);

const disassemblyKey = (id: string, name: string, module: string) =>
  [...queryKeys.profiles, id, "disassembly", name, module] as const;

/** Load the instructions of a function. The first request lets a worker build them; later ones follow it. */
export function useDisassembly(id: string, name: string, module: string) {
  const client = useQueryClient();
  const queryKey = disassemblyKey(id, name, module);
  return useQuery({
    queryKey,
    queryFn: () => {
      const known = client.getQueryData<Disassembly>(queryKey);
      return known
        ? get(`/disassemblies/${known.id}`)
        : post(`/profiles/${id}/disassemblies`, { function: name, module });
    },
    refetchInterval: ({ state }) =>
      state.data && (isBeingBuilt(state.data) || isBeingFetched(state.data)) ? POLL_MS : false,
  });
}

/** Fetch the code of a function from the host of its profile. */
export function useFetchCode(id: string, { id: disassemblyId }: Disassembly) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => post(`/disassemblies/${disassemblyId}/fetch`),
    onSuccess: () => client.invalidateQueries({ queryKey: [...queryKeys.profiles, id, "disassembly"] }),
  });
}

export const useFacets = (id: string, filter: Filter, enabled: boolean) =>
  useQuery({
    queryKey: [...queryKeys.profiles, id, "facets", filter.from_ns, filter.to_ns],
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
    queryKey: [...queryKeys.profiles, id, "heat", { ...filter, from_ns: undefined, to_ns: undefined }],
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
    refetchInterval: ({ state }) => (state.data && !isComparisonBuilt(state.data) ? POLL_MS : false),
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
