import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { fetchAll } from "../queries";

/** Poll interval, because pipelines report events while the list is open. */
const REFRESH_MS = 30_000;
const NEWEST = 400;

export const eventKeys = { events: ["events"] as const };

export const useEvents = (withdrawn: boolean) =>
  useQuery({
    queryKey: [...eventKeys.events, withdrawn],
    queryFn: () => fetchAll("/reported-events", { withdrawn }, NEWEST),
    placeholderData: keepPreviousData,
    refetchInterval: REFRESH_MS,
  });
