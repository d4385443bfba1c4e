import { keepPreviousData, queryOptions, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useState } from "react";
import type * as I from "../../client/models";
import type { RequestBody, SubPath } from "../../client/paths";
import { ApiError, callApi, get } from "../api";

export const incidentKeys = {
  all: ["incidents"] as const,
  list: ["incidents", "list"] as const,
  outcomes: ["incidents", "outcomes"] as const,
  detail: (id: string) => ["incidents", id] as const,
  journal: (id: string) => ["incidents", id, "journal"] as const,
  pin: (id: string, pin: string) => ["incidents", id, "pins", pin] as const,
};

const LIST = 200;
const LIST_POLL_MS = 30_000;

/** Fetch the newest incidents, at most LIST. */
export const incidentsQuery = queryOptions({
  queryKey: incidentKeys.list,
  queryFn: () => get("/incidents", { limit: LIST }).then((page) => page.items),
});

export const useIncidents = () => useQuery({ ...incidentsQuery, refetchInterval: LIST_POLL_MS });

export const incidentQuery = (id: string) =>
  queryOptions({ queryKey: incidentKeys.detail(id), queryFn: () => get(`/incidents/${id}`) });

export const useIncident = (id: string, pollMs: number | false = false) =>
  useQuery({ ...incidentQuery(id), refetchInterval: pollMs, enabled: id !== "" });

export const journalQuery = (id: string) =>
  queryOptions({ queryKey: incidentKeys.journal(id), queryFn: () => get(`/incidents/${id}/journal`) });

export const useJournal = (id: string, pollMs: number | false = false) =>
  useQuery({
    ...journalQuery(id),
    refetchInterval: pollMs,
    placeholderData: keepPreviousData,
  });

/** Fetch the check of a pin against its artifact. */
export const usePinCheck = (incident: string, pin: string) =>
  useQuery({
    queryKey: incidentKeys.pin(incident, pin),
    queryFn: () => get(`/incidents/${incident}/pins/${pin}`),
    staleTime: 60_000,
  });

/** Fetch the mutes of a host. */
export const useMutes = (host: string, enabled: boolean) =>
  useQuery({
    queryKey: [...incidentKeys.all, "mutes", host],
    queryFn: () => get("/mutes", { host }),
    enabled,
  });

/** Fetch how often each cause was named and how often it was correct, as a Map by cause id. */
export const useCauseOutcomes = () =>
  useQuery({
    queryKey: incidentKeys.outcomes,
    queryFn: () =>
      get("/causes/outcomes").then(
        (all) => new Map(all.map((causeOutcome) => [causeOutcome.cause, causeOutcome])),
      ),
    staleTime: 300_000,
  });

export const isVersionConflict = (error: unknown): error is ApiError =>
  error instanceof ApiError && error.status === 409 && error.sentence?.key === "incident.changed";

type WriteMethod = "POST" | "PATCH" | "DELETE";
type WritePath<M extends WriteMethod> = SubPath<Lowercase<M>, "/incidents/{incident_id}">;

/** Body of a write without the version, which `useIncidentWrite` adds. */
type WriteBody<M extends WriteMethod, P extends WritePath<M>> =
  RequestBody<Lowercase<M>, `/incidents/${string}${P}`> extends infer Body extends object
    ? Omit<Body, "version">
    : object;

/** Write request. `path` is relative to the URL of the incident, such as `/verdicts`. */
type Write<M extends WriteMethod, P extends WritePath<M>> = {
  method: M;
  path: P;
} & (object extends WriteBody<M, P> ? { body?: WriteBody<M, P> } : { body: WriteBody<M, P> });

interface SentWrite {
  method: WriteMethod;
  path: WritePath<"POST"> | WritePath<"PATCH"> | WritePath<"DELETE">;
  body?: object;
}

/**
 * Return functions that write to an incident, with optimistic locking: each write sends the version that the user saw.
 * After a conflict the newest version is fetched, the input is kept, and `again` sends it for that version.
 *
 * With `held`, writes send the version at the first render (for dialogs), else the current version (for buttons).
 */
export function useIncidentWrite(
  incident: Pick<I.Incident, "id" | "version">,
  after?: (now: I.Incident | undefined) => void,
  held = false,
) {
  const cache = useQueryClient();
  const [opened, setOpened] = useState(incident.version);
  const seen = held ? opened : incident.version;
  const refresh = useCallback(() => cache.invalidateQueries({ queryKey: incidentKeys.all }), [cache]);
  const mutation = useMutation({
    mutationFn: ({ write, version }: { write: SentWrite; version: number }) =>
      callApi<I.Incident | undefined>(write.method, `/incidents/${incident.id}${write.path}`, {
        body: { ...write.body, version },
      }),
    onSuccess: async (now) => {
      if (now?.id === incident.id) cache.setQueryData(incidentKeys.detail(incident.id), now);
      await refresh();
      after?.(now);
    },
    onError: (error) => (isVersionConflict(error) ? refresh() : undefined),
  });
  const { mutate, variables } = mutation;
  const send = useCallback(
    <M extends WriteMethod, const P extends WritePath<M>>(write: Write<M, P>, version = seen) =>
      mutate({ write, version }),
    [mutate, seen],
  );
  const conflict = isVersionConflict(mutation.error) ? mutation.error : undefined;
  const storedVersion = Number(conflict?.sentence?.params.version) || 0;
  const newest = Math.max(incident.version, storedVersion);
  const again = useCallback(() => {
    if (!variables) return;
    setOpened(newest);
    mutate({ write: variables.write, version: newest });
  }, [mutate, variables, newest]);
  return {
    send,
    again,
    /** Error of a write that the server rejected because of a newer version. */
    conflict,
    /** Version that the last write sent; later changes are new to the user. */
    since: variables?.version ?? seen,
    error: conflict ? null : mutation.error,
    pending: mutation.isPending,
    reset: mutation.reset,
  };
}
export type IncidentWrite = ReturnType<typeof useIncidentWrite>;
