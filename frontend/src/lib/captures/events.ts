import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { ToldEvent } from "../client/events";
import { all } from "./queries";

/** Pipelines tell events while somebody looks. */
const WATCH_MS = 30_000;
const NEWEST = 400;

export const eventKeys = { events: ["events"] as const };

export const useEvents = (withdrawn: boolean) =>
  useQuery({
    queryKey: [...eventKeys.events, withdrawn],
    queryFn: () => all<ToldEvent>("/events", { withdrawn }, NEWEST),
    placeholderData: keepPreviousData,
    refetchInterval: WATCH_MS,
  });
