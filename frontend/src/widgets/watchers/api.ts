import { useQuery } from "@tanstack/react-query";
import type { Watcher } from "../../client/models";
import { get } from "../../lib/queries";

export type WatcherState = Watcher["state"];

export const WATCHERS = ["watchers"] as const;
/** Poll interval, equal to the 5 s interval of watcher readings. */
const EVERY_MS = 5_000;
const LIMIT = 200;

export const useWatchers = (filter: { host_id?: string; include_ended?: boolean } = {}) =>
  useQuery({
    queryKey: [...WATCHERS, filter],
    queryFn: () => get("/watchers", { ...filter, limit: LIMIT }).then(({ items }) => items),
    refetchInterval: EVERY_MS,
  });

export const useConditionKinds = () =>
  useQuery({
    queryKey: ["condition-kinds"],
    queryFn: () => get("/watchers/conditions"),
    staleTime: Number.POSITIVE_INFINITY,
  });
