import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { Lane, Timeline, TimelineOverview } from "../../client/types";
import type { Row } from "../../core/lanes";
import { fetchRange, labelText } from "../../core/lanes";
import type { Range } from "../../core/range";
import { get } from "../../lib/api";

export const useOverview = (hostId: string) =>
  useQuery({
    queryKey: ["hosts", hostId, "timeline", "overview"],
    queryFn: () => get<TimelineOverview>(`/hosts/${hostId}/timeline/overview`),
    staleTime: 10_000,
  });

const MAX_WIDTH = 4000;

function useSlice(
  hostId: string,
  view: Range | undefined,
  width: number,
  metrics: readonly string[],
  kind: string,
) {
  const asked = view ? fetchRange(view) : undefined;
  const share = asked && view ? (asked.to - asked.from) / (view.to - view.from) : 1;
  // The width is asked for in steps, so that a window being resized does not ask again with every pixel.
  const wide = Math.min(MAX_WIDTH, Math.ceil((width * share) / 256) * 256);
  return useQuery({
    queryKey: ["hosts", hostId, "timeline", kind, asked?.from, asked?.to, wide, metrics.join(",")],
    queryFn: ({ signal }) =>
      get<Timeline>(
        `/hosts/${hostId}/timeline`,
        {
          from_ns: Math.max(0, asked?.from ?? 0),
          to_ns: asked?.to,
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

/** The lanes of the rows that are shown. Matrices are asked for apart: they are heavy, lines must not wait. */
export function useTimelineData(
  hostId: string,
  view: Range | undefined,
  width: number,
  rows: readonly Row[],
) {
  const lineMetrics = useMemo(() => unique(rows.filter((row) => row.kind !== "heatmap")), [rows]);
  const heatMetrics = useMemo(() => unique(rows.filter((row) => row.kind === "heatmap")), [rows]);
  const lines = useSlice(hostId, view, width, lineMetrics, "lines");
  const heats = useSlice(hostId, view, Math.min(width, 1000), heatMetrics, "heats");
  const byRow = useMemo(() => {
    const lanes = [...(lines.data?.lanes ?? []), ...(heats.data?.lanes ?? [])];
    const out = new Map<string, Lane[]>();
    for (const lane of lanes) {
      for (const key of [lane.metric, `${lane.metric}{${labelText(lane.labels)}}`]) {
        const list = out.get(key);
        if (list) list.push(lane);
        else out.set(key, [lane]);
      }
    }
    return out;
  }, [lines.data, heats.data]);
  return { lines, heats, byRow };
}

const unique = (rows: readonly Row[]): string[] => [...new Set(rows.map((row) => row.metric))].sort();
