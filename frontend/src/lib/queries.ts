import {
  keepPreviousData,
  queryOptions,
  useMutation,
  useQueries,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import type * as T from "../client/models";
import type { ApiPath, ItemOf, Query } from "../client/paths";
import type { Range } from "../core/time/range";
import { ApiError, callApi, get, patch, post, put, rememberCsrf, remove } from "./api";
import { fetchUnlessUnchanged } from "./requests/fetchUnlessUnchanged";

/** Query keys. The resource type is first, so that all queries of a type can be invalidated together. */
export const queryKeys = {
  me: ["me"] as const,
  hosts: ["hosts"] as const,
  host: (id: string) => ["hosts", id] as const,
  captures: ["captures"] as const,
  capture: (id: string) => ["captures", id] as const,
  run: (id: string) => ["runs", id] as const,
  profiles: ["profiles"] as const,
  diagnoses: ["diagnoses"] as const,
  diagnosis: (id: string) => ["diagnoses", id] as const,
  thresholds: ["thresholds"] as const,
  services: ["services"] as const,
  playbooks: ["playbooks"] as const,
  playbook: (id: string) => ["playbooks", id] as const,
  fleet: ["fleet"] as const,
};

export const meQuery = queryOptions({
  queryKey: queryKeys.me,
  queryFn: async () => {
    const me = await get("/me");
    rememberCsrf(me.csrf ?? "");
    return me;
  },
  staleTime: 60_000,
  retry: (count, error) => !(error instanceof ApiError) && count < 2,
});

export const useMe = () => useQuery(meQuery);

/** Return a predicate: whether the signed-in user has a permission, according to the server. */
export function usePermission(): (action: string) => boolean {
  const { data } = useMe();
  return (action) => data?.permissions.includes(action) ?? false;
}

const byId = <E extends { id: string }>(entries: E[]) => new Map(entries.map((entry) => [entry.id, entry]));

/** Fetch all rules and causes, each as a Map by id, and all metrics, collectors and plans. */
async function fetchCatalog() {
  const { rules, causes, ...others } = await get("/catalog");
  return { ...others, rules: byId(rules), causes: byId(causes) };
}

type Catalog = Awaited<ReturnType<typeof fetchCatalog>>;
export const catalogQuery = queryOptions({
  queryKey: ["catalog"],
  queryFn: fetchCatalog,
  staleTime: Number.POSITIVE_INFINITY,
});
const selectors = {
  collectors: (catalog: Catalog) => catalog.collectors,
  plans: (catalog: Catalog) => catalog.plans,
  metrics: (catalog: Catalog) => catalog.metrics,
  rules: (catalog: Catalog) => catalog.rules,
  causes: (catalog: Catalog) => catalog.causes,
};

export const useCollectors = () => useQuery({ ...catalogQuery, select: selectors.collectors });
export const usePlans = () => useQuery({ ...catalogQuery, select: selectors.plans });
export const useMetrics = () => useQuery({ ...catalogQuery, select: selectors.metrics });
/** Fetch all rules as a Map by id. */
export const useRules = () => useQuery({ ...catalogQuery, select: selectors.rules });
/** Fetch all causes as a Map by id. */
export const useCauses = () => useQuery({ ...catalogQuery, select: selectors.causes });

export const usePlaybooks = () =>
  useQuery({
    queryKey: queryKeys.playbooks,
    queryFn: () => get("/playbooks"),
    staleTime: Number.POSITIVE_INFINITY,
  });
export const usePlaybook = (id: string) =>
  useQuery({
    queryKey: queryKeys.playbook(id),
    queryFn: () => get(`/playbooks/${id}`),
    enabled: id !== "",
    staleTime: Number.POSITIVE_INFINITY,
  });
/** Fetch playbooks with all details; returns those that are loaded. */
export const usePlaybooksOf = (ids: readonly string[]): T.Playbook[] =>
  useQueries({
    queries: ids.map((id) => ({
      queryKey: queryKeys.playbook(id),
      queryFn: () => get(`/playbooks/${id}`),
      staleTime: Number.POSITIVE_INFINITY,
    })),
    combine: (results) => results.flatMap((result) => result.data ?? []),
  });
/** Fetch the dry run of a playbook against a run. */
export const useDryRun = (id: string, run: string) =>
  useQuery({
    queryKey: [...queryKeys.playbook(id), "chain", run],
    queryFn: () => get(`/playbooks/${id}/dry-run`, { run_id: run }),
    enabled: id !== "" && run !== "",
  });

/** Return the items of all pages of a list, until `max` is reached. For lists that a page filters in the browser. */
export async function fetchAll<const P extends ApiPath<"get">>(
  path: P,
  query: Query<"get", P>,
  max = 2000,
): Promise<ItemOf<P>[]> {
  const out: ItemOf<P>[] = [];
  let cursor: string | undefined;
  do {
    const page: T.ItemList<ItemOf<P>> = await callApi("GET", path, {
      query: { ...query, limit: 200, cursor },
    });
    out.push(...page.items);
    cursor = page.next ?? undefined;
  } while (cursor && out.length < max);
  return out;
}

export type HostFilter = Pick<Query<"get", "/hosts">, "q" | "label" | "state">;

export const hostsQuery = (filter: HostFilter = {}) =>
  queryOptions({
    queryKey: [...queryKeys.hosts, "list", filter],
    queryFn: () => fetchAll("/hosts", { ...filter }),
  });

export const useHosts = (filter: HostFilter = {}) =>
  useQuery({ ...hostsQuery(filter), placeholderData: keepPreviousData });

export const useServices = () =>
  useQuery({ queryKey: queryKeys.services, queryFn: () => fetchAll("/services", {}) });

export const hostQuery = (id: string) =>
  queryOptions({ queryKey: queryKeys.host(id), queryFn: () => get(`/hosts/${id}`) });

export const useHost = (id: string) => useQuery(hostQuery(id));

export const preflightQuery = (hostId: string) =>
  queryOptions({
    queryKey: [...queryKeys.host(hostId), "preflight"],
    queryFn: () =>
      get(`/hosts/${hostId}/preflight`).catch((error: unknown) => {
        if (error instanceof ApiError && error.status === 404) return null;
        throw error;
      }),
  });

export const usePreflight = (hostId: string) =>
  useQuery({
    ...preflightQuery(hostId),
    refetchInterval: (query) =>
      query.state.data?.state === "queued" || query.state.data?.state === "running" ? 1000 : false,
  });

export function useCheckHost(hostId: string) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: () => post(`/hosts/${hostId}/check`),
    onSuccess: (preflight) => cache.setQueryData([...queryKeys.host(hostId), "preflight"], preflight),
  });
}

export interface CaptureFilter {
  host?: string | undefined;
  state?: string | undefined;
}

const ACTIVE = new Set<T.RunState>(["queued", "running", "ingesting"]);
export const isActive = (state: T.RunState): boolean => ACTIVE.has(state);

export const capturesQuery = (filter: CaptureFilter = {}, limit = 100) =>
  queryOptions({
    queryKey: [...queryKeys.captures, "list", filter, limit],
    queryFn: () => get("/captures", { ...filter, limit }),
  });

export const useCaptures = (filter: CaptureFilter = {}, limit = 100) =>
  useQuery({
    ...capturesQuery(filter, limit),
    placeholderData: keepPreviousData,
    refetchInterval: (query) => (query.state.data?.items.some((c) => isActive(c.state)) ? 3000 : false),
  });

export const runQuery = (id: string) =>
  queryOptions({ queryKey: queryKeys.run(id), queryFn: () => get(`/runs/${id}`) });

export const useRun = (id: string) =>
  useQuery({
    ...runQuery(id),
    enabled: id !== "",
    refetchInterval: (query) => {
      const run = query.state.data;
      if (!run) return false;
      const waiting = run.profiles.some((p) => p.state === "queued" || p.state === "running");
      return isActive(run.state) || waiting ? 2000 : false;
    },
  });

export const useProfiles = (filter: { host?: string | undefined; run?: string | undefined }) =>
  useQuery({
    queryKey: [...queryKeys.profiles, "list", filter],
    queryFn: () => get("/profiles", { ...filter, limit: 200 }).then((page) => page.items),
    placeholderData: keepPreviousData,
    refetchInterval: (query) =>
      query.state.data?.some((p) => p.state === "queued" || p.state === "running") ? 2000 : false,
  });

export const runFindingsQuery = (id: string) =>
  queryOptions({ queryKey: [...queryKeys.run(id), "findings"], queryFn: () => get(`/runs/${id}/findings`) });

/** Fetch the findings of a run. If `waits`, poll every 2 s until its rules are evaluated. */
export const useRunFindings = (id: string, waits: boolean) =>
  useQuery({
    ...runFindingsQuery(id),
    refetchInterval: (query) => (waits && !query.state.data?.evaluated_at ? 2000 : false),
  });

export const hostFindingsQuery = (id: string) =>
  queryOptions({
    queryKey: [...queryKeys.host(id), "findings"],
    queryFn: () => get(`/hosts/${id}/findings`),
  });

export const useHostFindings = (id: string) => useQuery(hostFindingsQuery(id));

/** Fetch the callers and callees of a process of a run; without `pid`, those of the scope of the capture. */
export const useRunCalls = (id: string, pid: number | undefined, range: Range | undefined) =>
  useQuery({
    queryKey: [...queryKeys.run(id), "calls", pid, range?.from, range?.to],
    queryFn: () =>
      get(`/runs/${id}/calls`, {
        pid,
        from_ns: range && Math.round(range.from),
        to_ns: range && Math.round(range.to),
      }),
    // Keep the previous data while another process of the same run loads. Another run starts empty.
    placeholderData: (before, query) => (query?.queryKey[1] === id ? before : undefined),
  });

/** Fetch which runs, tracks and times the timeline of a host has. */
export const overviewQuery = (hostId: string) =>
  queryOptions({
    queryKey: [...queryKeys.host(hostId), "timeline", "overview"],
    queryFn: () => get(`/hosts/${hostId}/timeline/overview`),
    staleTime: 10_000,
  });

/** Fetch the host context: machine, kernel, limits, neighbors, changes and peers. */
export const useHostContext = (id: string, run?: string) =>
  useQuery({
    queryKey: [...queryKeys.host(id), "context", run],
    queryFn: () => get(`/hosts/${id}/context`, { run_id: run }),
  });

export const useDiagnoses = (host: string | undefined, limit = 100) =>
  useQuery({
    queryKey: [...queryKeys.diagnoses, "list", host, limit],
    queryFn: () => get("/diagnoses", { host, limit }),
    placeholderData: keepPreviousData,
    refetchInterval: (query) => (query.state.data?.items.some((d) => d.state === "running") ? 2000 : false),
  });

export const diagnosisQuery = (id: string) =>
  queryOptions({ queryKey: queryKeys.diagnosis(id), queryFn: () => get(`/diagnoses/${id}`) });

export const useDiagnosis = (id: string) =>
  useQuery({
    ...diagnosisQuery(id),
    enabled: id !== "",
    refetchInterval: (query) => (query.state.data?.state === "running" ? 1000 : false),
  });

/** Poll interval of the fleet page, because captures change its data. Unchanged data is not transferred again. */
const FLEET_MS = 15_000;

export const fleetUseQuery = (has: string) =>
  queryOptions({
    queryKey: [...queryKeys.fleet, "use", has],
    queryFn: fetchUnlessUnchanged("/fleet/use", { has: has ? [has] : undefined }),
  });

/** Fetch the USE grid of the hosts with the label `has` (`name:value`; empty: all hosts). */
export const useFleetUse = (has: string, enabled = true) =>
  useQuery({
    ...fleetUseQuery(has),
    placeholderData: keepPreviousData,
    refetchInterval: FLEET_MS,
    enabled,
  });

/** Fetch the findings of the hosts with the label `has`. */
export const useFleetFindings = (has: string, enabled = true) =>
  useQuery({
    queryKey: [...queryKeys.fleet, "findings", has],
    queryFn: fetchUnlessUnchanged("/fleet/findings", { has: has ? [has] : undefined }),
    placeholderData: keepPreviousData,
    refetchInterval: FLEET_MS,
    enabled,
  });

export interface PeersQuery {
  has: string;
  label: string;
  measure: string;
  within: number;
}

/** Fetch groups of hosts with the same label, and the outliers of each group. */
export const useFleetPeers = ({ has, label, measure, within }: PeersQuery, enabled = true) =>
  useQuery({
    queryKey: [...queryKeys.fleet, "peers", has, label, measure, within],
    queryFn: fetchUnlessUnchanged("/fleet/peers", {
      has: has ? [has] : undefined,
      label: label || undefined,
      measure: measure || undefined,
      within_s: within,
    }),
    placeholderData: keepPreviousData,
    refetchInterval: FLEET_MS,
    enabled,
  });

/** Return a mutation that invalidates the queries under the keys `touches` on success, then calls `after`. */
export function useAction<In, Out>(
  run: (input: In) => Promise<Out>,
  touches: readonly (readonly unknown[])[],
  after?: (out: Out, input: In) => void,
) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: run,
    onSuccess: async (out: Out, input: In) => {
      await Promise.all(touches.map((queryKey) => cache.invalidateQueries({ queryKey })));
      after?.(out, input);
    },
  });
}

export { callApi, get, patch, post, put, remove };
