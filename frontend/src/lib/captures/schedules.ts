import { keepPreviousData, skipToken, useQuery } from "@tanstack/react-query";
import type { Cadence } from "../../client/models";
import type { RequestBody } from "../../client/paths";
import { fetchAll, get, post } from "../queries";

/** Often enough that a user sees a schedule fire. */
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

export const useWindows = (include_ended: boolean) =>
  useQuery({
    queryKey: [...scheduleKeys.windows, include_ended],
    queryFn: () => fetchAll("/maintenance-windows", { include_ended }),
    placeholderData: keepPreviousData,
    refetchInterval: WATCH_MS,
  });

/** When a cadence would be due; asked again whenever it changes, with nothing stored. */
export const useCadence = (
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

/** Who is on call now, for the head of every screen. */
export const useOncall = () =>
  useQuery({
    queryKey: scheduleKeys.oncall,
    queryFn: () => get("/oncall"),
    refetchInterval: ONCALL_MS,
    staleTime: ONCALL_MS / 2,
  });

export const useRotations = () =>
  useQuery({
    queryKey: [...scheduleKeys.oncall, "rotations"],
    queryFn: () => get("/rotations"),
    refetchInterval: ONCALL_MS,
  });

/** Who can be put on call; for those who may do it. */
export const useColleagues = (enabled: boolean) =>
  useQuery({
    queryKey: [...scheduleKeys.oncall, "people"],
    queryFn: () => get("/oncall/candidates"),
    enabled,
  });
