import { useQuery } from "@tanstack/react-query";
import type { ConditionKind, Standby } from "../../client/standbys";
import type { List } from "../../client/types";
import { get } from "../../lib/queries";

export const STANDBYS = ["standbys"] as const;
/** Its readings are of every five seconds; a screen that is looked at is as old as that. */
const EVERY_MS = 5_000;
const LIMIT = 200;

export const useStandbys = (filter: { host?: string; over?: boolean } = {}) =>
  useQuery({
    queryKey: [...STANDBYS, filter],
    queryFn: () => get<List<Standby>>("/standbys", { ...filter, limit: LIMIT }).then(({ items }) => items),
    refetchInterval: EVERY_MS,
  });

export const useConditionKinds = () =>
  useQuery({
    queryKey: ["condition-kinds"],
    queryFn: () => get<ConditionKind[]>("/standbys/conditions"),
    staleTime: Number.POSITIVE_INFINITY,
  });
