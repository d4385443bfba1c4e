import { keepPreviousData, queryOptions, useQuery, useQueryClient } from "@tanstack/react-query";
import type * as R from "../../client/models";
import type { RequestBody } from "../../client/paths";
import { get, patch, post, remove } from "../api";
import { useAction } from "../queries";

export const reportKeys = {
  ofIncident: (incident: string) => ["reports", "of", incident] as const,
  detail: (id: string) => ["reports", id] as const,
  preview: (id: string, version: number) => ["reports", id, "preview", version] as const,
  visits: (share: string) => ["reports", "visits", share] as const,
};

export const reportsQuery = (incident: string) =>
  queryOptions({
    queryKey: reportKeys.ofIncident(incident),
    queryFn: () => get(`/incidents/${incident}/reports`),
  });

export const useReports = (incident: string) => useQuery(reportsQuery(incident));

export const reportQuery = (id: string) =>
  queryOptions({ queryKey: reportKeys.detail(id), queryFn: () => get(`/reports/${id}`) });

export const useReport = (id: string) => useQuery(reportQuery(id));

/** Fetch the preview of a draft as readers would receive it. `enabled` is true while it is visible. */
export const useReportPreview = (report: R.Report, enabled: boolean) =>
  useQuery({
    queryKey: reportKeys.preview(report.id, report.version),
    queryFn: () => get(`/reports/${report.id}/preview`),
    placeholderData: keepPreviousData,
    enabled,
  });

export const useShareVisits = (share: string) =>
  useQuery({
    queryKey: reportKeys.visits(share),
    queryFn: () => get(`/report-shares/${share}/visits`),
  });

export const useCreateReport = (incident: string, after: (report: R.Report) => void) =>
  useAction(
    (body: RequestBody<"post", `/incidents/${string}/reports`>) =>
      post(`/incidents/${incident}/reports`, body, crypto.randomUUID()),
    [reportKeys.ofIncident(incident)],
    after,
  );

/** Return a mutation that updates a draft. It sends the version of `report`, so that conflicts are detected. */
export function useUpdateReport(report: R.Report) {
  const cache = useQueryClient();
  return useAction(
    (body: Omit<RequestBody<"patch", `/reports/${string}`>, "version">) =>
      patch(`/reports/${report.id}`, { ...body, version: report.version }),
    [reportKeys.ofIncident(report.incident_id)],
    (now) => cache.setQueryData(reportKeys.detail(report.id), now),
  );
}

export const useFreezeReport = (report: R.Report) =>
  useAction(
    () => post(`/reports/${report.id}/versions`, { version: report.version }, crypto.randomUUID()),
    [reportKeys.detail(report.id), reportKeys.ofIncident(report.incident_id)],
  );

export const useApproveVersion = (report: R.Report) =>
  useAction((version: string) => post(`/report-versions/${version}/approve`), [reportKeys.detail(report.id)]);

export const useShareVersion = (report: R.Report) =>
  useAction(
    ({ version, ...body }: { version: string; days: number; note: string }) =>
      post(`/report-versions/${version}/shares`, body, crypto.randomUUID()),
    [reportKeys.detail(report.id)],
  );

export const useRevokeShare = (report: R.Report) =>
  useAction((share: string) => remove(`/report-shares/${share}`), [reportKeys.detail(report.id)]);
