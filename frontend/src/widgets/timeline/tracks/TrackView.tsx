import { type CSSProperties, memo, useEffect, useMemo, useRef } from "react";
import {
  findMaximumIn,
  findScaleTop,
  medianStep,
  scaleFor,
  type TrackRow,
  toMaximumByTime,
} from "../../../core/charts/tracks";
import {
  findTypicalAvailability,
  findTypicalValues,
  MIN_DAYS,
  type TypicalSpan,
  type TypicalValues,
  toTypicalPoints,
} from "../../../core/charts/typicalRange";
import { cx } from "../../../core/cx";
import { formatQuantity } from "../../../core/text/format";
import type { Range } from "../../../core/time/range";
import { useMessage } from "../../../lib/text/i18n";
import { type Translate, useTranslation } from "../../../lib/text/useTranslation";
import { useIsNearViewport } from "../../../lib/useIsNearViewport";
import type { CaptureBlock, Track } from "../api";
import type { CursorStore } from "../cursor";
import classes from "../Timeline.module.css";
import {
  commonGaps,
  drawGaps,
  drawGrid,
  drawSeries,
  drawTypicalRange,
  drawUncertainty,
  prepareCanvas,
} from "./draw";
import { drawHeat } from "./drawHeat";
import { toSeries } from "./trackSeries";
import { compareValues, readValues, summarizeValues, valueNode } from "./trackValues";

interface Props {
  row: TrackRow;
  title: string;
  meaning: string;
  tracks: readonly Track[] | undefined;
  range: Range;
  width: number;
  scheme: "dark" | "light";
  ticks: readonly number[];
  blocks: readonly CaptureBlock[];
  cursor: CursorStore;
  brush: Range | undefined;
  baseline: Range | undefined;
  waiting: boolean;
}

/** Height of the legend of the typical range below the plot. */
const LEGEND = 14;

/** Return the height of a row in px: by the number of lines, or of a heat map by the number of axis values. */
export function rowHeight(row: TrackRow, tracks: readonly Track[] | undefined): number {
  if (row.kind === "heatmap") {
    const n = tracks?.[0]?.axis_values?.length ?? 16;
    return Math.max(40, Math.min(128, n * (n <= 16 ? 5 : n <= 64 ? 2 : 0.5)));
  }
  const n = tracks ? Math.max(...tracks.map((l) => l.axis_values?.length ?? 1)) * tracks.length : 1;
  return n > 1 ? Math.max(44, 20 + 14 * Math.min(n, 4)) : 44;
}

export const TrackView = memo(function TrackView(props: Props) {
  const {
    row,
    title,
    meaning,
    tracks,
    range,
    width,
    scheme,
    ticks,
    blocks,
    cursor,
    brush,
    baseline,
    waiting,
  } = props;
  const { t } = useTranslation();
  const formatMessage = useMessage();
  const canvas = useRef<HTMLCanvasElement>(null);
  const values = useRef<HTMLSpanElement>(null);
  const legend = useRef<HTMLSpanElement>(null);
  const near = useIsNearViewport(canvas);
  const height = rowHeight(row, tracks);
  const heat = row.kind === "heatmap" ? tracks?.[0] : undefined;
  const series = useMemo(() => toSeries(row, tracks, scheme), [row, tracks, scheme]);
  // Only the largest series has its typical range rendered, because several bands on top of each other are unreadable.
  const banded = useMemo(() => series.find((namedSeries) => namedSeries.typical.length > 0), [series]);
  const step = useMemo(() => medianStep(heat?.matrix?.t_ns ?? series[0]?.points.t_ns ?? []), [heat, series]);
  const tops = useMemo(() => (heat?.matrix ? toMaximumByTime(heat.matrix) : undefined), [heat]);
  const scale = useMemo(() => {
    if (row.kind !== "heatmap")
      return scaleFor(
        [...series.map((s) => s.points), ...(banded ? [toTypicalPoints(banded.typical)] : [])],
        range,
        row.unit,
      );
    if (row.unit === "pct") return { low: 0, high: 100 };
    return {
      low: 0,
      high: findScaleTop(heat?.matrix && tops ? findMaximumIn(heat.matrix.t_ns, tops, range) : 0, row.unit),
    };
  }, [row, series, banded, heat, tops, range]);

  useEffect(() => {
    const node = canvas.current;
    if (!node || width <= 0 || !near) return;
    const ctx = prepareCanvas(node, width, height);
    if (!ctx) return;
    const surface = { ctx, width, height, range, scheme };
    drawGrid(surface, ticks);
    if (tracks) drawGaps(surface, tracks.length > 0 ? commonGaps(tracks) : [[range.from, range.to]]);
    if (heat?.matrix) drawHeat(surface, heat.matrix, heat.gaps, scale.high, step);
    if (banded) drawTypicalRange(surface, banded.typical, scale, banded.ink);
    for (const namedSeries of [...series].reverse())
      drawSeries(surface, namedSeries.points, scale, {
        ink: namedSeries.ink,
        kind: row.kind === "heatmap" ? "line" : row.kind,
        step,
        gaps: namedSeries.gaps,
      });
    drawUncertainty(surface, blocks);
  }, [
    near,
    width,
    height,
    range,
    scheme,
    ticks,
    tracks,
    heat,
    series,
    banded,
    scale,
    step,
    blocks,
    row.kind,
  ]);

  useEffect(() => {
    const show = () => {
      const node = values.current;
      if (!node) return;
      const at = cursor.value;
      const lines = at
        ? readValues(row, heat, series, at.t, step, at.row === row.key ? at.share : undefined, range, width)
        : brush
          ? compareValues(heat, series, brush, baseline)
          : summarizeValues(heat, series, range, {
              min: t("timeline.stats.min"),
              max: t("timeline.stats.max"),
              last: t("timeline.stats.last"),
            });
      node.classList.toggle(classes.pairs ?? "", !at && !brush && series.length <= 1);
      node.replaceChildren(
        ...lines.slice(0, 4).map((line) => valueNode(line, row.unit, t("timeline.noData"))),
      );
    };
    show();
    return cursor.subscribe(show);
  }, [cursor, row, heat, series, step, range, width, brush, baseline, t]);

  useEffect(() => {
    const show = () => {
      const node = legend.current;
      if (!node || !banded) return;
      const of = series.length > 1 && banded.name ? ` · ${banded.name}` : "";
      const when = cursor.value?.t;
      const here = banded.typical.filter(
        (typicalSpan) => when !== undefined && when >= typicalSpan.from_ns && when <= typicalSpan.to_ns,
      );
      const at = when === undefined ? undefined : findTypicalValues(here, when);
      const ranges = here.length > 0 ? here : banded.typical;
      node.textContent =
        (at ? formatTypical(t, at, row.unit) : formatTypicalDays(t, formatMessage, ranges, range)) + of;
    };
    show();
    return cursor.subscribe(show);
  }, [cursor, banded, series.length, range, row.unit, t, formatMessage]);

  const hasTypicalRange =
    banded !== undefined && findTypicalAvailability(banded.typical, range) !== undefined;
  const top = tracks && tracks.length > 0 ? formatQuantity(scale.high, row.unit) : "";
  return (
    <div
      className={classes.track}
      style={{ "--h": `${height + (banded ? LEGEND : 0)}px` } as CSSProperties}
      data-row={row.key}
    >
      <div className={classes.gutter} title={`${row.key}\n${meaning}`}>
        <span className={classes.trackTitle}>{title}</span>
        <span ref={values} className={classes.values} />
      </div>
      <div className={cx(classes.plot, waiting && classes.waiting)}>
        <canvas ref={canvas} className={classes.canvas} style={{ width, height }} aria-hidden />
        <span className={classes.top}>{top}</span>
        {hasTypicalRange && <span ref={legend} className={classes.typical} />}
        {tracks?.length === 0 && !waiting && <span className={classes.none}>{t("timeline.noDataHere")}</span>}
      </div>
    </div>
  );
});

/** Return the typical range at a time, such as "typical at this hour: 12-30 ms, median 20 ms (7 days)". */
function formatTypical(t: Translate, at: TypicalValues, unit: string): string {
  return t("timeline.typical.at", {
    low: formatQuantity(at.low, unit),
    high: formatQuantity(at.high, unit),
    median: formatQuantity(at.median, unit),
    count: at.days,
  });
}

/** Return the number of days of the typical range, or the reason why there is no typical range. */
function formatTypicalDays(
  t: Translate,
  formatMessage: ReturnType<typeof useMessage>,
  spans: readonly TypicalSpan[],
  range: Range,
): string {
  const typical = findTypicalAvailability(spans, range);
  switch (typical?.kind) {
    case "band":
      return typical.least === typical.most
        ? t("timeline.typical.band", { count: typical.most })
        : t("timeline.typical.bandOf", { least: typical.least, most: typical.most });
    case "few":
      return t("timeline.typical.few", { count: typical.most, needed: MIN_DAYS });
    case "failed":
      return t("timeline.typical.failed", { why: formatMessage(typical.why) });
    default:
      return "";
  }
}
