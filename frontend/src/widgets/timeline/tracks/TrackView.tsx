import type { TFunction } from "i18next";
import { type CSSProperties, memo, useEffect, useMemo, useRef } from "react";
import { useTranslation } from "react-i18next";
import type { CaptureBlock, Lane } from "../../client/types";
import { cx } from "../../core/cx";
import { quantity } from "../../core/format";
import { largest, largestIn, niceTop, type Row, scaleFor, usualStep } from "../../core/lanes";
import type { Range } from "../../core/range";
import { MIN_DAYS, type UsualAt, type UsualSpan, usualAt, usualIn, usualPoints } from "../../core/usual";
import { useSentence } from "../../lib/i18n";
import type { CursorStore } from "./cursor";
import { commonGaps, drawGaps, drawGrid, drawSeries, drawUncertainty, drawUsual, prepare } from "./draw";
import { drawHeat } from "./drawHeat";
import { toSeries } from "./laneSeries";
import { compare, readAt, valueNode } from "./laneValues";
import classes from "./Timeline.module.css";
import { useNear } from "./useNear";

interface Props {
  row: Row;
  title: string;
  meaning: string;
  lanes: readonly Lane[] | undefined;
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

/** Room under the plot for what the band means. */
const LEGEND = 14;

/** Height of a row: room for its legend, and for a matrix a pixel or more per axis value. */
export function rowHeight(row: Row, lanes: readonly Lane[] | undefined): number {
  if (row.kind === "heatmap") {
    const n = lanes?.[0]?.axis_values?.length ?? 16;
    return Math.max(40, Math.min(128, n * (n <= 16 ? 5 : n <= 64 ? 2 : 0.5)));
  }
  const n = lanes ? Math.max(...lanes.map((l) => l.axis_values?.length ?? 1)) * lanes.length : 1;
  return n > 1 ? Math.max(44, 20 + 14 * Math.min(n, 4)) : 44;
}

export const LaneRow = memo(function LaneRow(props: Props) {
  const {
    row,
    title,
    meaning,
    lanes,
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
  const say = useSentence();
  const canvas = useRef<HTMLCanvasElement>(null);
  const values = useRef<HTMLSpanElement>(null);
  const legend = useRef<HTMLSpanElement>(null);
  const near = useNear(canvas);
  const height = rowHeight(row, lanes);
  const heat = row.kind === "heatmap" ? lanes?.[0] : undefined;
  const series = useMemo(() => toSeries(row, lanes, scheme), [row, lanes, scheme]);
  // One band is read, six over one another are not: that of the series that reaches highest.
  const banded = useMemo(() => series.find((one) => one.usual.length > 0), [series]);
  const step = useMemo(() => usualStep(heat?.matrix?.t_ns ?? series[0]?.points.t_ns ?? []), [heat, series]);
  const tops = useMemo(() => (heat?.matrix ? largest(heat.matrix) : undefined), [heat]);
  const scale = useMemo(() => {
    if (row.kind !== "heatmap")
      return scaleFor(
        [...series.map((s) => s.points), ...(banded ? [usualPoints(banded.usual)] : [])],
        range,
        row.unit,
      );
    if (row.unit === "pct") return { low: 0, high: 100 };
    return {
      low: 0,
      high: niceTop(heat?.matrix && tops ? largestIn(heat.matrix.t_ns, tops, range) : 0, row.unit),
    };
  }, [row, series, banded, heat, tops, range]);

  useEffect(() => {
    const node = canvas.current;
    if (!node || width <= 0 || !near) return;
    const ctx = prepare(node, width, height);
    if (!ctx) return;
    const surface = { ctx, width, height, range, scheme };
    drawGrid(surface, ticks);
    if (lanes) drawGaps(surface, lanes.length > 0 ? commonGaps(lanes) : [[range.from, range.to]]);
    if (heat?.matrix) drawHeat(surface, heat.matrix, heat.gaps, scale.high, step);
    if (banded) drawUsual(surface, banded.usual, scale, banded.ink);
    for (const one of [...series].reverse())
      drawSeries(surface, one.points, scale, {
        ink: one.ink,
        kind: row.kind === "heatmap" ? "line" : row.kind,
        step,
        gaps: one.gaps,
      });
    drawUncertainty(surface, blocks);
  }, [near, width, height, range, scheme, ticks, lanes, heat, series, banded, scale, step, blocks, row.kind]);

  useEffect(() => {
    const show = () => {
      const node = values.current;
      if (!node) return;
      const at = cursor.value;
      const lines = at
        ? readAt(row, heat, series, at.t, step, at.row === row.key ? at.share : undefined, range, width)
        : brush
          ? compare(heat, series, brush, baseline)
          : [];
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
      const here = banded.usual.filter(
        (one) => when !== undefined && when >= one.from_ns && when <= one.to_ns,
      );
      const at = when === undefined ? undefined : usualAt(here, when);
      const told = here.length > 0 ? here : banded.usual;
      node.textContent = (at ? atText(t, at, row.unit) : rangeText(t, say, told, range)) + of;
    };
    show();
    return cursor.subscribe(show);
  }, [cursor, banded, series.length, range, row.unit, t, say]);

  const told = banded !== undefined && usualIn(banded.usual, range) !== undefined;
  const top = lanes && lanes.length > 0 ? quantity(scale.high, row.unit) : "";
  return (
    <div
      className={classes.lane}
      style={{ "--h": `${height + (banded ? LEGEND : 0)}px` } as CSSProperties}
      data-row={row.key}
    >
      <div className={classes.gutter} title={`${row.key}\n${meaning}`}>
        <span className={classes.laneTitle}>{title}</span>
        <span ref={values} className={classes.values} />
      </div>
      <div className={cx(classes.plot, waiting && classes.waiting)}>
        <canvas ref={canvas} className={classes.canvas} style={{ width, height }} aria-hidden />
        <span className={classes.top}>{top}</span>
        {told && <span ref={legend} className={classes.usual} />}
        {lanes?.length === 0 && !waiting && <span className={classes.none}>{t("timeline.noDataHere")}</span>}
      </div>
    </div>
  );
});

/** "usual at this hour: 12-30 ms, median 20 ms (7 days)". */
function atText(t: TFunction, at: UsualAt, unit: string): string {
  return t("timeline.usual.at", {
    low: quantity(at.low, unit),
    high: quantity(at.high, unit),
    median: quantity(at.median, unit),
    count: at.days,
  });
}

/** How many days the band is made of; where there is none, why. */
function rangeText(
  t: TFunction,
  say: ReturnType<typeof useSentence>,
  spans: readonly UsualSpan[],
  range: Range,
): string {
  const found = usualIn(spans, range);
  switch (found?.kind) {
    case "band":
      return found.least === found.most
        ? t("timeline.usual.band", { count: found.most })
        : t("timeline.usual.bandOf", { least: found.least, most: found.most });
    case "few":
      return t("timeline.usual.few", { count: found.most, needed: MIN_DAYS });
    case "failed":
      return t("timeline.usual.failed", { why: say(found.why) });
    default:
      return "";
  }
}
