import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { TrackRow } from "../../core/charts/tracks";
import { fetchRange, labelText } from "../../core/charts/tracks";
import type { Range } from "../../core/time/range";
import { get } from "../../lib/api";
import { overviewQuery } from "../../lib/queries";
import type { Track } from "./api";

export const useOverview = (hostId: string) => useQuery({ ...overviewQuery(hostId), enabled: hostId !== "" });

const MAX_WIDTH = 4000;

function useSlice(
  hostId: string,
  view: Range | undefined,
  width: number,
  metrics: readonly string[],
  kind: string,
) {
  const requested = view ? fetchRange(view) : undefined;
  const share = requested && view ? (requested.to - requested.from) / (view.to - view.from) : 1;
  // The width is rounded up to 256 px, so that resizing the window sends few requests.
  const wide = Math.min(MAX_WIDTH, Math.ceil((width * share) / 256) * 256);
  return useQuery({
    queryKey: ["hosts", hostId, "timeline", kind, requested?.from, requested?.to, wide, metrics.join(",")],
    queryFn: ({ signal }) =>
      get(
        `/hosts/${hostId}/timeline`,
        {
          from_ns: Math.max(0, requested?.from ?? 0),
          to_ns: requested?.to,
          width: wide,
          metrics: metrics.join(","),
        },
        signal,
      ),
    enabled: view !== undefined && width > 0,
    placeholderData: keepPreviousData,
    staleTime: 60_000,
  });
}

/** Fetch the tracks of the visible rows. Matrices are large and have their own request, so that lines load first. */
export function useTimelineData(
  hostId: string,
  view: Range | undefined,
  width: number,
  rows: readonly TrackRow[],
) {
  const lineMetrics = useMemo(() => unique(rows.filter((row) => row.kind !== "heatmap")), [rows]);
  const heatMetrics = useMemo(() => unique(rows.filter((row) => row.kind === "heatmap")), [rows]);
  const lines = useSlice(hostId, view, width, lineMetrics, "lines");
  const heats = useSlice(hostId, view, Math.min(width, 1000), heatMetrics, "heats");
  const byRow = useMemo(() => {
    const tracks = [...(lines.data?.tracks ?? []), ...(heats.data?.tracks ?? [])];
    const out = new Map<string, Track[]>();
    for (const track of tracks) {
      for (const key of [track.metric, `${track.metric}{${labelText(track.labels)}}`]) {
        const list = out.get(key);
        if (list) list.push(track);
        else out.set(key, [track]);
      }
    }
    return out;
  }, [lines.data, heats.data]);
  return { lines, heats, byRow };
}

const unique = (rows: readonly TrackRow[]): string[] => [...new Set(rows.map((row) => row.metric))].sort();
