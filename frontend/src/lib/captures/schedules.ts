import { keepPreviousData, queryOptions, skipToken, useQuery } from "@tanstack/react-query";
import type { Cadence } from "../../client/models";
import type { RequestBody } from "../../client/paths";
import { fetchAll, get, post } from "../queries";

/** Poll interval of schedules and maintenance windows; short enough to observe a schedule start a capture. */
const WATCH_MS = 15_000;
const ONCALL_MS = 60_000;

export const scheduleKeys = {
  schedules: ["schedules"] as const,
  windows: ["maintenance"] as const,
  oncall: ["oncall"] as const,
};

export const useSchedules = () =>
  useQuery({
    queryKey: scheduleKeys.schedules,
    queryFn: () => fetchAll("/schedules", {}),
    refetchInterval: WATCH_MS,
  });

export const useMaintenanceWindows = (include_ended: boolean) =>
  useQuery({
    queryKey: [...scheduleKeys.windows, include_ended],
    queryFn: () => fetchAll("/maintenance-windows", { include_ended }),
    placeholderData: keepPreviousData,
    refetchInterval: WATCH_MS,
  });

/** Fetch the due times of a cadence, again after each change of it. The server stores nothing. */
export const useCadencePreview = (
  cadence: Cadence | undefined,
  target: RequestBody<"post", "/schedules/preview">["target"],
) =>
  useQuery({
    queryKey: [...scheduleKeys.schedules, "preview", cadence, target],
    queryFn: cadence
      ? () => post("/schedules/preview", { cadence, ...(target ? { target } : {}) })
      : skipToken,
    placeholderData: keepPreviousData,
    retry: false,
  });

export const oncallQuery = queryOptions({
  queryKey: scheduleKeys.oncall,
  queryFn: () => get("/oncall"),
  staleTime: ONCALL_MS / 2,
});

/** Fetch who is on call now, for the header of each page. */
export const useOncall = () => useQuery({ ...oncallQuery, refetchInterval: ONCALL_MS });

export const useRotations = () =>
  useQuery({
    queryKey: [...scheduleKeys.oncall, "rotations"],
    queryFn: () => get("/rotations"),
    refetchInterval: ONCALL_MS,
  });

/** Fetch the users who can be on call. `enabled` must be false without the permission to do so. */
export const useOncallCandidates = (enabled: boolean) =>
  useQuery({
    queryKey: [...scheduleKeys.oncall, "people"],
    queryFn: () => get("/oncall/candidates"),
    enabled,
  });
