import { useMemo } from "react";
import { rowKey, type TrackGroup, type TrackRow } from "../../../core/charts/tracks";
import type { Range } from "../../../core/time/range";
import type { CaptureBlock } from "../api";
import { chooseAfter, chooseBefore, findRunByRange } from "./selections";
import { useDifferences } from "./useDifferences";

const LIMIT = 500;

interface Options {
  hostId: string;
  runs: readonly CaptureBlock[];
  groups: readonly TrackGroup[];
  brush: Range | undefined;
  baseline: Range | undefined;
  enabled: boolean;
}

/**
 * Return the rows whose series differ between baseline and selection, largest difference first. The default selection
 * is the newest run, the default baseline the run before it.
 */
export function useChangeOrder({ hostId, runs, groups, brush, baseline, enabled }: Options) {
  const after = brush ?? chooseAfter(runs);
  const before =
    baseline ??
    (after && chooseBefore(runs, after, { sameHost: true, plan: findRunByRange(runs, after)?.plan }));
  const query = useDifferences(
    before && { host: hostId, range: before },
    after && { host: hostId, range: after },
    LIMIT,
    enabled,
  );
  const series = query.data?.series;
  const rows = useMemo(() => {
    if (!series) return [];
    const byKey = new Map(groups.flatMap((group) => group.rows.map((row) => [row.key, row] as const)));
    const ordered = new Map<string, TrackRow>();
    for (const item of series) {
      const row = byKey.get(rowKey(item, "heatmap")) ?? byKey.get(item.metric);
      if (row) ordered.set(row.key, row);
    }
    return [...ordered.values()];
  }, [series, groups]);
  return { query, rows, before, after };
}
