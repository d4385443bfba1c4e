import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import type * as R from "../client/reports";
import { get, patch, post, remove } from "./api";
import { useAction } from "./queries";

export const reportKeys = {
  of: (incident: string) => ["reports", "of", incident] as const,
  one: (id: string) => ["reports", id] as const,
  preview: (id: string, version: number) => ["reports", id, "preview", version] as const,
  visits: (share: string) => ["reports", "visits", share] as const,
};

export const useReports = (incident: string) =>
  useQuery({
    queryKey: reportKeys.of(incident),
    queryFn: () => get<R.ReportSummary[]>(`/incidents/${incident}/reports`),
  });

export const useReport = (id: string) =>
  useQuery({ queryKey: reportKeys.one(id), queryFn: () => get<R.Report>(`/reports/${id}`) });

/** What would leave of a draft; asked for only while somebody looks. */
export const usePreviewOf = (report: R.Report, enabled: boolean) =>
  useQuery({
    queryKey: reportKeys.preview(report.id, report.version),
    queryFn: () => get<R.ReportPreview>(`/reports/${report.id}/preview`),
    placeholderData: keepPreviousData,
    enabled,
  });

export const useVisits = (share: string) =>
  useQuery({
    queryKey: reportKeys.visits(share),
    queryFn: () => get<R.ReportVisit[]>(`/report-shares/${share}/visits`),
  });

export const useNewReport = (incident: string, after: (made: R.Report) => void) =>
  useAction(
    (body: { title: string; language: string; zone: string; preset: R.ReportPreset }) =>
      post<R.Report>(`/incidents/${incident}/reports`, body, crypto.randomUUID()),
    [reportKeys.of(incident)],
    after,
  );

/** Writes on a draft, as somebody who saw this version of it. */
export function useWriteReport(report: R.Report) {
  const cache = useQueryClient();
  return useAction(
    (body: Record<string, unknown>) =>
      patch<R.Report>(`/reports/${report.id}`, { ...body, version: report.version }),
    [reportKeys.of(report.incident_id)],
    (now) => cache.setQueryData(reportKeys.one(report.id), now),
  );
}

export const useFreeze = (report: R.Report) =>
  useAction(
    () =>
      post<R.ReportVersion>(
        `/reports/${report.id}/versions`,
        { version: report.version },
        crypto.randomUUID(),
      ),
    [reportKeys.one(report.id), reportKeys.of(report.incident_id)],
  );

export const useApprove = (report: R.Report) =>
  useAction(
    (version: string) => post<R.ReportVersion>(`/report-versions/${version}/approve`),
    [reportKeys.one(report.id)],
  );

export const useShare = (report: R.Report) =>
  useAction(
    ({ version, ...body }: { version: string; days: number; note: string }) =>
      post<R.ReportShare>(`/report-versions/${version}/shares`, body, crypto.randomUUID()),
    [reportKeys.one(report.id)],
  );

export const useRevoke = (report: R.Report) =>
  useAction((share: string) => remove(`/report-shares/${share}`), [reportKeys.one(report.id)]);
