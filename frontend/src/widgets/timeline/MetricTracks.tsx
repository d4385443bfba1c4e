import { useComputedColorScheme } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { type CSSProperties, useMemo } from "react";
import { BlockSkeleton, ErrorLine } from "../../components/EmptyState";
import { buildGroups } from "../../core/charts/tracks";
import type { Range } from "../../core/time/range";
import { useMetrics } from "../../lib/queries";
import { useLocalized } from "../../lib/text/i18n";
import { useTimeFormat } from "../../lib/text/useFormat";
import { useTranslation } from "../../lib/text/useTranslation";
import { BrushOverlay } from "./BrushOverlay";
import { useCursorStore } from "./cursor";
import classes from "./Timeline.module.css";
import { TrackView } from "./tracks/TrackView";
import { useOverview, useTimelineData } from "./useTimelineData";

/** One metric of each resource: CPU, run queue, disk, network, and pressure stall information. */
const METRICS = ["cpu.total_busy_pct", "sched.runq", "disk.util_pct", "net.rx_mb_s", "psi.some_pct"];
/** Groups whose metric titles need the group title, because they do not name the resource. */
const GROUPED = new Set(["disk", "network"]);

interface Props {
  hostId: string;
  /** Time axis of the charts above. */
  range: Range;
  /** Width of the row names in px, as in the charts above. */
  gutter: number;
  /** Selected time and its baseline, if they overlap `range`. */
  brush?: Range | undefined;
  baseline?: Range | undefined;
  onBrush(range: Range | undefined): void;
  onBaseline(range: Range | undefined): void;
}

/** Render metrics of the host at the time of a profile or scheduler recording, on the same time axis. */
export function MetricTracks({ hostId, range, gutter, brush, baseline, onBrush, onBaseline }: Props) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const time = useTimeFormat();
  const scheme = useComputedColorScheme("dark");
  const { ref, width: whole } = useElementSize<HTMLDivElement>();
  const width = Math.max(0, Math.floor(whole - gutter));
  const overview = useOverview(hostId);
  const metrics = useMetrics();
  const cursor = useCursorStore();
  const rows = useMemo(
    () =>
      buildGroups(overview.data?.tracks ?? [], metrics.data ?? [])
        .flatMap((group) => group.rows)
        .filter((row) => METRICS.includes(row.key)),
    [overview.data, metrics.data],
  );
  const known = useMemo(
    () => new Map((metrics.data ?? []).map((metric) => [metric.id, metric])),
    [metrics.data],
  );
  const titleOf = (id: string): string => {
    const metric = known.get(id);
    const title = localize(metric?.title) || id;
    return metric && GROUPED.has(metric.track.group)
      ? `${localize(metric.track.group_title)} · ${title}`
      : title;
  };
  const { lines, byRow } = useTimelineData(hostId, range, width, rows);
  const ticks = useMemo(
    () => time.ticks(range.from, range.to, width).map((tick) => tick.t),
    [range, width, time],
  );
  const error = overview.error ?? metrics.error ?? lines.error;
  return (
    <section
      ref={ref}
      className={classes.compact}
      style={{ "--gutter": `${gutter}px` } as CSSProperties}
      aria-label={t("timeline.metricsAtThatTime")}
      data-testid="metric-tracks"
    >
      {error && !lines.data ? (
        <ErrorLine error={error} />
      ) : !overview.data || !metrics.data ? (
        <BlockSkeleton height={44 * METRICS.length} />
      ) : rows.length === 0 ? (
        <p className={classes.noMetrics}>{t("timeline.noMetrics")}</p>
      ) : (
        <>
          {rows.map((row) => (
            <TrackView
              key={row.key}
              row={row}
              title={titleOf(row.metric)}
              meaning={localize(known.get(row.metric)?.meaning)}
              tracks={lines.data ? (byRow.get(row.key) ?? NONE) : undefined}
              range={range}
              width={width}
              scheme={scheme}
              ticks={ticks}
              blocks={NONE}
              cursor={cursor}
              brush={brush}
              baseline={baseline}
              waiting={lines.isPlaceholderData || lines.isPending}
            />
          ))}
          <BrushOverlay
            range={range}
            width={width}
            cursor={cursor}
            brush={brush}
            baseline={baseline}
            onBrush={onBrush}
            onBaseline={onBaseline}
            onPick={() => brush && onBrush(undefined)}
          />
        </>
      )}
    </section>
  );
}

const NONE: never[] = [];
