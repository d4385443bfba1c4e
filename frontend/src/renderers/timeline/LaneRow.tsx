import type { TFunction } from "i18next";
import { type CSSProperties, memo, useEffect, useMemo, useRef } from "react";
import { useTranslation } from "react-i18next";
import type { CaptureBlock, Lane } from "../../client/types";
import { cx } from "../../core/cx";
import { quantity } from "../../core/format";
import {
  labelText,
  largest,
  largestIn,
  matrixStatsIn,
  nearest,
  niceTop,
  type Points,
  type Row,
  scaleFor,
  splitMatrix,
  statsIn,
  usualStep,
} from "../../core/lanes";
import { INKS } from "../../core/ramp";
import type { Range } from "../../core/range";
import { MIN_DAYS, type UsualAt, type UsualSpan, usualAt, usualIn, usualPoints } from "../../core/usual";
import { useSentence } from "../../lib/i18n";
import type { CursorStore } from "./cursor";
import {
  commonGaps,
  drawGaps,
  drawGrid,
  drawHeat,
  drawSeries,
  drawUncertainty,
  drawUsual,
  type Gaps,
  prepare,
} from "./draw";
import classes from "./Timeline.module.css";
import { useNear } from "./useNear";

export interface Named {
  readonly name: string;
  readonly points: Points;
  readonly ink: string;
  readonly gaps: Gaps;
  readonly usual: readonly UsualSpan[];
}

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

const SHOWN = 6;
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

function toSeries(row: Row, lanes: readonly Lane[] | undefined, scheme: "dark" | "light"): Named[] {
  if (!lanes || row.kind === "heatmap") return [];
  const all = lanes.flatMap((lane) => {
    const label = labelText(lane.labels).replace(/(^|,)[^=,]+=/g, "$1");
    if (lane.points)
      return [
        { name: label, points: lane.points as Points, gaps: lane.gaps as Gaps, usual: lane.usual ?? [] },
      ];
    return splitMatrix(lane).map((one) => ({
      name: label ? `${label} ${one.name}` : one.name,
      points: one.points,
      gaps: lane.gaps as Gaps,
      usual: [],
    }));
  });
  const size = (points: Points) => points.max.reduce<number>((most, v) => Math.max(most, v ?? 0), 0);
  const inks = INKS[scheme];
  return all
    .map((one) => ({ ...one, size: size(one.points) }))
    .sort((a, b) => b.size - a.size || (a.name < b.name ? -1 : 1))
    .slice(0, SHOWN)
    .map(({ name, points, gaps, usual }, i) => ({
      name,
      points,
      gaps,
      usual,
      ink: inks[i % inks.length] as string,
    }));
}

interface Line {
  readonly name: string;
  readonly ink: string | undefined;
  readonly value: number | undefined;
  readonly low?: number | undefined;
  readonly high?: number | undefined;
  /** B − A as a share of A; with it, the line is a comparison. */
  readonly change?: number | undefined;
}

function readAt(
  row: Row,
  heat: Lane | undefined,
  series: readonly Named[],
  at: number,
  step: number,
  share: number | undefined,
  range: Range,
  width: number,
): Line[] {
  const tolerance = Math.max(step * 0.75, ((range.to - range.from) / Math.max(width, 1)) * 2);
  if (row.kind === "heatmap") {
    const matrix = heat?.matrix;
    const i = matrix ? nearest(matrix.t_ns, at, tolerance) : -1;
    const values = matrix?.values[i];
    const names = heat?.axis_values ?? [];
    if (!values) return [{ name: "", ink: undefined, value: undefined }];
    if (share !== undefined) {
      const k = Math.min(names.length - 1, Math.floor(share * names.length));
      return [
        { name: `${heat?.axis ?? ""} ${names[k] ?? ""}`, ink: undefined, value: values[k] ?? undefined },
      ];
    }
    let best = -1;
    for (let k = 0; k < values.length; k += 1) if ((values[k] ?? -1) > (values[best] ?? -1)) best = k;
    return [
      {
        name: `max · ${heat?.axis ?? ""} ${names[best] ?? ""}`,
        ink: undefined,
        value: values[best] ?? undefined,
      },
    ];
  }
  return series.map((one) => {
    const i = nearest(one.points.t_ns, at, tolerance);
    return {
      name: one.name,
      ink: series.length > 1 ? one.ink : undefined,
      value: i < 0 ? undefined : (one.points.mean[i] ?? undefined),
      low: i < 0 ? undefined : (one.points.min[i] ?? undefined),
      high: i < 0 ? undefined : (one.points.max[i] ?? undefined),
    };
  });
}

function compare(
  heat: Lane | undefined,
  series: readonly Named[],
  brush: Range,
  baseline: Range | undefined,
): Line[] {
  const of = (
    get: (range: Range) => { mean: number } | undefined,
    name: string,
    ink: string | undefined,
  ): Line => {
    const b = get(brush)?.mean;
    const a = baseline ? get(baseline)?.mean : undefined;
    const change =
      baseline && a !== undefined && b !== undefined && a !== 0 ? (b - a) / Math.abs(a) : undefined;
    return { name: name || "⌀", ink, value: b, change };
  };
  if (heat?.matrix) {
    const { matrix } = heat;
    return [of((range) => matrixStatsIn(matrix, range), "⌀", undefined)];
  }
  return series.map((one) =>
    of((range) => statsIn(one.points, range), one.name, series.length > 1 ? one.ink : undefined),
  );
}

function valueNode(line: Line, unit: string, noData: string): HTMLElement {
  const node = document.createElement("span");
  node.className = classes.value ?? "";
  if (line.name) {
    const name = document.createElement("span");
    name.className = classes.valueName ?? "";
    name.textContent = line.name;
    if (line.ink) name.style.color = line.ink;
    node.append(name);
  }
  const number = document.createElement("span");
  number.className = classes.number ?? "";
  number.textContent = line.value === undefined ? noData : quantity(line.value, unit);
  if (line.value === undefined) number.classList.add(classes.noValue ?? "");
  if (line.low !== undefined && line.high !== undefined && line.high - line.low > Math.abs(line.high) * 0.02)
    number.title = `${quantity(line.low, unit)} – ${quantity(line.high, unit)}`;
  node.append(number);
  if (line.change !== undefined) {
    const change = document.createElement("span");
    const percent = Math.round(line.change * 100);
    change.className = (percent > 0 ? classes.grew : percent < 0 ? classes.shrank : classes.same) ?? "";
    change.textContent = `${percent > 0 ? "+" : ""}${Math.abs(percent) > 999 ? `${Math.round(line.change + 1)}×` : `${percent} %`}`;
    node.append(change);
  }
  return node;
}
