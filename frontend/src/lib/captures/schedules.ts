import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type {
  Cadence,
  CadenceRead,
  Colleague,
  MaintenanceWindow,
  Oncall,
  Rotation,
  Schedule,
} from "../client/schedules";
import { all, get, post } from "./queries";

/** A schedule that is due while somebody looks shall be seen to fire. */
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
    queryFn: () => all<Schedule>("/schedules", {}),
    refetchInterval: WATCH_MS,
  });

export const useWindows = (over: boolean) =>
  useQuery({
    queryKey: [...scheduleKeys.windows, over],
    queryFn: () => all<MaintenanceWindow>("/maintenance", { over }),
    placeholderData: keepPreviousData,
    refetchInterval: WATCH_MS,
  });

/** When a cadence would be due; asked again whenever it changes, with nothing stored. */
export const useCadence = (cadence: Cadence | undefined, target: unknown) =>
  useQuery({
    queryKey: [...scheduleKeys.schedules, "preview", cadence, target],
    queryFn: () => post<CadenceRead>("/schedules/preview", { cadence, ...(target ? { target } : {}) }),
    enabled: cadence !== undefined,
    placeholderData: keepPreviousData,
    retry: false,
  });

/** Who is on call now, for the head of every screen. */
export const useOncall = () =>
  useQuery({
    queryKey: scheduleKeys.oncall,
    queryFn: () => get<Oncall[]>("/oncall"),
    refetchInterval: ONCALL_MS,
    staleTime: ONCALL_MS / 2,
  });

export const useRotations = () =>
  useQuery({
    queryKey: [...scheduleKeys.oncall, "rotations"],
    queryFn: () => get<Rotation[]>("/rotations"),
    refetchInterval: ONCALL_MS,
  });

/** Who can be put on call; for those who may do it. */
export const useColleagues = (enabled: boolean) =>
  useQuery({
    queryKey: [...scheduleKeys.oncall, "people"],
    queryFn: () => get<Colleague[]>("/oncall/people"),
    enabled,
  });
