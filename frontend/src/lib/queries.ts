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
import { ApiError, call, get, patch, post, put, rememberCsrf, remove } from "./api";
import { fetchUnlessUnchanged } from "./fetchUnlessUnchanged";

/** Query keys. The resource type is first, so that all queries of a type can be invalidated together. */
export const keys = {
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
  queryKey: keys.me,
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

export const useCollectors = () =>
  useQuery({
    queryKey: ["collectors"],
    queryFn: () => get("/catalog/collectors"),
    staleTime: Number.POSITIVE_INFINITY,
  });
export const usePlans = () =>
  useQuery({
    queryKey: ["plans"],
    queryFn: () => get("/catalog/plans"),
    staleTime: Number.POSITIVE_INFINITY,
  });
export const useMetrics = () =>
  useQuery({
    queryKey: ["catalog-metrics"],
    queryFn: () => get("/catalog/metrics"),
    staleTime: Number.POSITIVE_INFINITY,
  });

/** Fetch all rules as a Map by id. */
export const useRules = () =>
  useQuery({
    queryKey: ["rules"],
    queryFn: () => get("/rules").then((rules) => new Map(rules.map((rule) => [rule.id, rule]))),
    staleTime: Number.POSITIVE_INFINITY,
  });
/** Fetch all causes as a Map by id. */
export const useCauses = () =>
  useQuery({
    queryKey: ["causes"],
    queryFn: () => get("/causes").then((causes) => new Map(causes.map((cause) => [cause.id, cause]))),
    staleTime: Number.POSITIVE_INFINITY,
  });

export const usePlaybooks = () =>
  useQuery({
    queryKey: keys.playbooks,
    queryFn: () => get("/playbooks"),
    staleTime: Number.POSITIVE_INFINITY,
  });
export const usePlaybook = (id: string) =>
  useQuery({
    queryKey: keys.playbook(id),
    queryFn: () => get(`/playbooks/${id}`),
    enabled: id !== "",
    staleTime: Number.POSITIVE_INFINITY,
  });
/** Fetch playbooks with all details; returns those that are loaded. */
export const usePlaybooksOf = (ids: readonly string[]): T.Playbook[] =>
  useQueries({
    queries: ids.map((id) => ({
      queryKey: keys.playbook(id),
      queryFn: () => get(`/playbooks/${id}`),
      staleTime: Number.POSITIVE_INFINITY,
    })),
    combine: (results) => results.flatMap((result) => result.data ?? []),
  });
/** Fetch the dry run of a playbook against a run. */
export const useDryRun = (id: string, run: string) =>
  useQuery({
    queryKey: [...keys.playbook(id), "chain", run],
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
    const page: T.List<ItemOf<P>> = await call("GET", path, { query: { ...query, limit: 200, cursor } });
    out.push(...page.items);
    cursor = page.next ?? undefined;
  } while (cursor && out.length < max);
  return out;
}

export type HostFilter = Pick<Query<"get", "/hosts">, "q" | "label" | "state">;

export const useHosts = (filter: HostFilter = {}) =>
  useQuery({
    queryKey: [...keys.hosts, "list", filter],
    queryFn: () => fetchAll("/hosts", { ...filter }),
    placeholderData: keepPreviousData,
  });

export const useServices = () =>
  useQuery({ queryKey: keys.services, queryFn: () => fetchAll("/services", {}) });

export const useHost = (id: string) =>
  useQuery({ queryKey: keys.host(id), queryFn: () => get(`/hosts/${id}`) });

export const usePreflight = (hostId: string) =>
  useQuery({
    queryKey: [...keys.host(hostId), "preflight"],
    queryFn: () =>
      get(`/hosts/${hostId}/preflight`).catch((error: unknown) => {
        if (error instanceof ApiError && error.status === 404) return null;
        throw error;
      }),
    refetchInterval: (query) =>
      query.state.data?.state === "queued" || query.state.data?.state === "running" ? 1000 : false,
  });

export function useCheckHost(hostId: string) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: () => post(`/hosts/${hostId}/check`),
    onSuccess: (preflight) => cache.setQueryData([...keys.host(hostId), "preflight"], preflight),
  });
}

export interface CaptureFilter {
  host?: string | undefined;
  state?: string | undefined;
}

const ACTIVE = new Set<T.RunState>(["queued", "running", "ingesting"]);
export const isActive = (state: T.RunState): boolean => ACTIVE.has(state);

export const useCaptures = (filter: CaptureFilter = {}, limit = 100) =>
  useQuery({
    queryKey: [...keys.captures, "list", filter, limit],
    queryFn: () => get("/captures", { ...filter, limit }),
    placeholderData: keepPreviousData,
    refetchInterval: (query) => (query.state.data?.items.some((c) => isActive(c.state)) ? 3000 : false),
  });

export const useRun = (id: string) =>
  useQuery({
    queryKey: keys.run(id),
    queryFn: () => get(`/runs/${id}`),
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
    queryKey: [...keys.profiles, "list", filter],
    queryFn: () => get("/profiles", { ...filter, limit: 200 }).then((page) => page.items),
    placeholderData: keepPreviousData,
    refetchInterval: (query) =>
      query.state.data?.some((p) => p.state === "queued" || p.state === "running") ? 2000 : false,
  });

/** Fetch the findings of a run. If `waits`, poll every 2 s until its rules are evaluated. */
export const useRunFindings = (id: string, waits: boolean) =>
  useQuery({
    queryKey: [...keys.run(id), "findings"],
    queryFn: () => get(`/runs/${id}/findings`),
    refetchInterval: (query) => (waits && !query.state.data?.evaluated_at ? 2000 : false),
  });

export const useHostFindings = (id: string) =>
  useQuery({
    queryKey: [...keys.host(id), "findings"],
    queryFn: () => get(`/hosts/${id}/findings`),
  });

/** Fetch the callers and callees of a process of a run; without `pid`, those of the scope of the capture. */
export const useRunCalls = (id: string, pid: number | undefined, range: Range | undefined) =>
  useQuery({
    queryKey: [...keys.run(id), "calls", pid, range?.from, range?.to],
    queryFn: () =>
      get(`/runs/${id}/calls`, {
        pid,
        from_ns: range && Math.round(range.from),
        to_ns: range && Math.round(range.to),
      }),
    // Keep the previous data while another process of the same run loads. Another run starts empty.
    placeholderData: (before, query) => (query?.queryKey[1] === id ? before : undefined),
  });

/** Fetch the host context: machine, kernel, limits, neighbors, changes and peers. */
export const useHostContext = (id: string, run?: string) =>
  useQuery({
    queryKey: [...keys.host(id), "context", run],
    queryFn: () => get(`/hosts/${id}/context`, { run_id: run }),
  });

export const useDiagnoses = (host: string | undefined, limit = 100) =>
  useQuery({
    queryKey: [...keys.diagnoses, "list", host, limit],
    queryFn: () => get("/diagnoses", { host, limit }),
    placeholderData: keepPreviousData,
    refetchInterval: (query) => (query.state.data?.items.some((d) => d.state === "running") ? 2000 : false),
  });

export const useDiagnosis = (id: string) =>
  useQuery({
    queryKey: keys.diagnosis(id),
    queryFn: () => get(`/diagnoses/${id}`),
    enabled: id !== "",
    refetchInterval: (query) => (query.state.data?.state === "running" ? 1000 : false),
  });

/** Poll interval of the fleet page, because captures change its data. Unchanged data is not transferred again. */
const FLEET_MS = 15_000;

/** Fetch the USE grid of the hosts with the label `has` (`name:value`; empty: all hosts). */
export const useFleetUse = (has: string, enabled = true) =>
  useQuery({
    queryKey: [...keys.fleet, "use", has],
    queryFn: fetchUnlessUnchanged("/fleet/use", { has: has ? [has] : undefined }),
    placeholderData: keepPreviousData,
    refetchInterval: FLEET_MS,
    enabled,
  });

/** Fetch the findings of the hosts with the label `has`. */
export const useFleetFindings = (has: string, enabled = true) =>
  useQuery({
    queryKey: [...keys.fleet, "findings", has],
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
    queryKey: [...keys.fleet, "peers", has, label, measure, within],
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

export { call, get, patch, post, put, remove };
