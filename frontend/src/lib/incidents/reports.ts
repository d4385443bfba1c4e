import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import type * as R from "../../client/models";
import type { RequestBody } from "../../client/paths";
import { get, patch, post, remove } from "../api";
import { useAction } from "../queries";

export const reportKeys = {
  of: (incident: string) => ["reports", "of", incident] as const,
  detail: (id: string) => ["reports", id] as const,
  preview: (id: string, version: number) => ["reports", id, "preview", version] as const,
  visits: (share: string) => ["reports", "visits", share] as const,
};

export const useReports = (incident: string) =>
  useQuery({
    queryKey: reportKeys.of(incident),
    queryFn: () => get(`/incidents/${incident}/reports`),
  });

export const useReport = (id: string) =>
  useQuery({ queryKey: reportKeys.detail(id), queryFn: () => get(`/reports/${id}`) });

/** Fetch the preview of a draft as readers would receive it. `enabled` is true while it is visible. */
export const usePreviewOf = (report: R.Report, enabled: boolean) =>
  useQuery({
    queryKey: reportKeys.preview(report.id, report.version),
    queryFn: () => get(`/reports/${report.id}/preview`),
    placeholderData: keepPreviousData,
    enabled,
  });

export const useVisits = (share: string) =>
  useQuery({
    queryKey: reportKeys.visits(share),
    queryFn: () => get(`/report-shares/${share}/visits`),
  });

export const useNewReport = (incident: string, after: (report: R.Report) => void) =>
  useAction(
    (body: RequestBody<"post", `/incidents/${string}/reports`>) =>
      post(`/incidents/${incident}/reports`, body, crypto.randomUUID()),
    [reportKeys.of(incident)],
    after,
  );

/** Return a mutation that updates a draft. It sends the version of `report`, so that conflicts are detected. */
export function useWriteReport(report: R.Report) {
  const cache = useQueryClient();
  return useAction(
    (body: Omit<RequestBody<"patch", `/reports/${string}`>, "version">) =>
      patch(`/reports/${report.id}`, { ...body, version: report.version }),
    [reportKeys.of(report.incident_id)],
    (now) => cache.setQueryData(reportKeys.detail(report.id), now),
  );
}

export const useFreeze = (report: R.Report) =>
  useAction(
    () => post(`/reports/${report.id}/versions`, { version: report.version }, crypto.randomUUID()),
    [reportKeys.detail(report.id), reportKeys.of(report.incident_id)],
  );

export const useApprove = (report: R.Report) =>
  useAction((version: string) => post(`/report-versions/${version}/approve`), [reportKeys.detail(report.id)]);

export const useShare = (report: R.Report) =>
  useAction(
    ({ version, ...body }: { version: string; days: number; note: string }) =>
      post(`/report-versions/${version}/shares`, body, crypto.randomUUID()),
    [reportKeys.detail(report.id)],
  );

export const useRevoke = (report: R.Report) =>
  useAction((share: string) => remove(`/report-shares/${share}`), [reportKeys.detail(report.id)]);
