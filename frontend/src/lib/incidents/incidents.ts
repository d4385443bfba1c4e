import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useState } from "react";
import type * as I from "../client/incidents";
import type { ApiPath } from "../client/paths";
import type { List } from "../client/types";
import { ApiError, call, get, type Options } from "./api";

export const incidentKeys = {
  all: ["incidents"] as const,
  list: ["incidents", "list"] as const,
  outcomes: ["incidents", "outcomes"] as const,
  one: (id: string) => ["incidents", id] as const,
  journal: (id: string) => ["incidents", id, "journal"] as const,
  pin: (id: string, pin: string) => ["incidents", id, "pins", pin] as const,
};

const LIST = 200;
const LIST_POLL_MS = 30_000;

/** The newest incidents. */
export const useIncidents = () =>
  useQuery({
    queryKey: incidentKeys.list,
    queryFn: () => get<List<I.IncidentSummary>>("/incidents", { limit: LIST }).then((page) => page.items),
    refetchInterval: LIST_POLL_MS,
  });

export const useIncident = (id: string, pollMs: number | false = false) =>
  useQuery({
    queryKey: incidentKeys.one(id),
    queryFn: () => get<I.Incident>(`/incidents/${id}`),
    refetchInterval: pollMs,
    enabled: id !== "",
  });

export const useJournal = (id: string, pollMs: number | false = false) =>
  useQuery({
    queryKey: incidentKeys.journal(id),
    queryFn: () => get<I.JournalEntry[]>(`/incidents/${id}/journal`),
    refetchInterval: pollMs,
    placeholderData: keepPreviousData,
  });

/** A pin held against the bytes that it was made from. */
export const usePinCheck = (incident: string, pin: string) =>
  useQuery({
    queryKey: incidentKeys.pin(incident, pin),
    queryFn: () => get<I.PinChecked>(`/incidents/${incident}/pins/${pin}`),
    staleTime: 60_000,
  });

/** Rules that do not count on a host now. */
export const useMutes = (host: string, enabled: boolean) =>
  useQuery({
    queryKey: [...incidentKeys.all, "mutes", host],
    queryFn: () => get<I.Mute[]>("/mutes", { host }),
    enabled,
  });

/** How often each cause was named and was it. */
export const useOutcomes = () =>
  useQuery({
    queryKey: incidentKeys.outcomes,
    queryFn: () =>
      get<I.CauseOutcome[]>("/causes/outcomes").then((all) => new Map(all.map((one) => [one.cause, one]))),
    staleTime: 300_000,
  });

export const isChanged = (error: unknown): error is ApiError =>
  error instanceof ApiError && error.status === 409 && error.sentence?.key === "incident.changed";

export interface Write {
  method: "POST" | "PATCH" | "DELETE";
  /** Below the address of the incident: `/verdicts`. */
  path: string;
  body?: Record<string, unknown>;
}

/**
 * A change of an incident. It says which version the person saw; where somebody was faster, nothing is lost: the
 * newest version is fetched, what was typed stays, and `again` sends it on top of what changed.
 *
 * A dialog holds the version of the moment it was opened (`held`); a button takes the one that is shown.
 */
export function useWrite(
  incident: Pick<I.Incident, "id" | "version">,
  after?: (now: I.Incident | undefined) => void,
  held = false,
) {
  const cache = useQueryClient();
  const [opened, setOpened] = useState(incident.version);
  const seen = held ? opened : incident.version;
  const refresh = useCallback(() => cache.invalidateQueries({ queryKey: incidentKeys.all }), [cache]);
  const mutation = useMutation({
    mutationFn: ({ write, version }: { write: Write; version: number }) => {
      const options: Options = { body: { ...write.body, version } };
      return call<I.Incident | undefined>(
        write.method,
        `/incidents/${incident.id}${write.path}` as ApiPath<"post">,
        options,
      );
    },
    onSuccess: async (now) => {
      if (now?.id === incident.id) cache.setQueryData(incidentKeys.one(incident.id), now);
      await refresh();
      after?.(now);
    },
    onError: (error) => (isChanged(error) ? refresh() : undefined),
  });
  const { mutate, variables } = mutation;
  const send = useCallback((write: Write, version = seen) => mutate({ write, version }), [mutate, seen]);
  const conflict = isChanged(mutation.error) ? mutation.error : undefined;
  const told = Number(conflict?.sentence?.params.version) || 0;
  const newest = Math.max(incident.version, told);
  const again = useCallback(() => {
    if (!variables) return;
    setOpened(newest);
    mutate({ write: variables.write, version: newest });
  }, [mutate, variables, newest]);
  return {
    send,
    again,
    /** What others changed since, where that is why nothing was written. */
    conflict,
    /** The version that was refused as too old: what came after it is news. */
    since: variables?.version ?? seen,
    error: conflict ? null : mutation.error,
    pending: mutation.isPending,
    reset: mutation.reset,
    what: variables?.write,
  };
}
export type Writing = ReturnType<typeof useWrite>;
