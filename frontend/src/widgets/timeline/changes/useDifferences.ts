import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { components } from "../../../client/schema";
import type { Range } from "../../../core/time/range";
import { get } from "../../../lib/api";

export type Differences = components["schemas"]["DifferencesResponse"];
export type SeriesDifference = components["schemas"]["SeriesDifferenceResponse"];

/** Time range of a host. */
export interface Selection {
  host: string;
  range: Range;
}

/** Fetch the differences between two selections, largest first. Sends no request unless both are set. */
export const useDifferences = (
  before: Selection | undefined,
  after: Selection | undefined,
  limit: number,
  enabled = true,
) =>
  useQuery({
    queryKey: ["differences", before, after, limit],
    queryFn: ({ signal }) =>
      get(
        "/differences",
        {
          before_host: before?.host ?? "",
          before_from_ns: Math.max(0, Math.round(before?.range.from ?? 0)),
          before_to_ns: Math.round(before?.range.to ?? 0),
          after_host: after?.host ?? "",
          after_from_ns: Math.max(0, Math.round(after?.range.from ?? 0)),
          after_to_ns: Math.round(after?.range.to ?? 0),
          limit,
        },
        signal,
      ),
    enabled: enabled && before !== undefined && after !== undefined,
    placeholderData: keepPreviousData,
    staleTime: 60_000,
  });
