import { useMemo, useState } from "react";
import {
  areaPath,
  findMaximum,
  linePath,
  listGaps,
  mergeTimes,
  stackLayers,
  type Values,
} from "../../../core/charts/panels";
import { findNearestIndex, findScaleTop, medianStep } from "../../../core/charts/tracks";
import { formatQuantity } from "../../../core/text/format";
import { padRange, type Range, toTime, toX } from "../../../core/time/range";
import { useLocalized } from "../../../lib/text/i18n";
import { useTimeFormat } from "../../../lib/text/useFormat";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { PanelsBody, VisualLabel, VisualPanel } from "../api";
import shared from "../charts.module.css";
import { FillPatterns, fillUrl, useFillId } from "../Legend";
import { useWidth } from "../useWidth";
import classes from "./Panels.module.css";
import { CursorValues, MarkerList, PanelFacts, PartBars } from "./PanelsText";

const GUTTER = 86;
const RIGHT = 10;
const HEAD = 18;
const PLOT = 62;
const ROW = HEAD + PLOT + 8;
const AXIS = 18;
const SECOND = 1e9;
/** Width of the text of a tick in px. */
const TICK = 76;

/** Render small charts with a shared time axis and a shared cursor. */
export function PanelsView({ body, label }: { body: PanelsBody; label: string }) {
  const { ref, width } = useWidth();
  const time = useTimeFormat();
  const { t } = useTranslation();
  const times = useMemo(() => mergeTimes(body.panels.map((visualPanel) => visualPanel.t_ns)), [body]);
  const [index, setIndex] = useState(times.length - 1);
  const range = rangeOf(body);
  const plot = Math.max(80, width - GUTTER - RIGHT);
  const height = body.panels.length * ROW + AXIS;
  const at = times[Math.min(index, times.length - 1)] ?? body.from_ns;
  const step = medianStep(times);
  const point = (px: number) => {
    const index = findNearestIndex(times, toTime(px - GUTTER, range, plot), Number.POSITIVE_INFINITY);
    if (index >= 0) setIndex(index);
  };
  return (
    <div ref={ref} className={shared.drawing}>
      <svg
        className={shared.svg}
        width={width}
        height={height}
        role="img"
        aria-label={label}
        onPointerMove={(event) => point(event.clientX - event.currentTarget.getBoundingClientRect().left)}
      >
        {body.panels.map((panel, i) => (
          <g key={panel.id} transform={`translate(0 ${i * ROW})`}>
            <Chart panel={panel} range={range} plot={plot} />
          </g>
        ))}
        {time
          .ticks(range.from, range.to, plot)
          .filter((tick) => toX(tick.t, range, plot) < plot - TICK / 2)
          .map((tick) => (
            <text key={tick.t} className={classes.axis} x={GUTTER + toX(tick.t, range, plot)} y={height - 4}>
              {tick.label}
            </text>
          ))}
        {body.moments.map((visualMoment, i) => (
          <MarkerLine
            key={i}
            x={GUTTER + toX(visualMoment.t_ns, range, plot)}
            plot={plot}
            height={height - AXIS}
          />
        ))}
        <path className={classes.cursor} d={`M${GUTTER + toX(at, range, plot)} 0V${height - AXIS}`} />
      </svg>
      <input
        type="range"
        className={classes.slider}
        style={{ marginLeft: GUTTER - 8, width: plot + 16 }}
        min={0}
        max={Math.max(0, times.length - 1)}
        value={Math.min(index, times.length - 1)}
        onChange={(event) => setIndex(Number(event.target.value))}
        aria-label={t("visuals.cursor", { what: label })}
        aria-valuetext={time.instant(at, step)}
      />
      <CursorValues body={body} at={at} step={step} />
      <PanelFacts facts={body.facts} />
      <MarkerList moments={body.moments} from={body.from_ns} />
      <PartBars label={body.parts_label} parts={body.parts} />
    </div>
  );
}

/** Return the padded range of all readings. A single reading is in the middle of a second. */
function rangeOf(body: PanelsBody): Range {
  return padRange({ from: body.from_ns, to: body.to_ns }, 0.01, body.to_ns > body.from_ns ? 0 : SECOND / 2);
}

/** Render an event as a line. An event outside of the range is an arrow at the edge. */
function MarkerLine({ x, plot, height }: { x: number; plot: number; height: number }) {
  if (x < GUTTER) return <path className={classes.momentEdge} d={`M${GUTTER + 7} 4l-7 5 7 5Z`} />;
  if (x > GUTTER + plot)
    return <path className={classes.momentEdge} d={`M${GUTTER + plot - 7} 4l7 5-7 5Z`} />;
  return (
    <g className={classes.moment}>
      <path d={`M${x} 0V${height}`} />
      <path className={classes.cross} d={`M${x - 4} 1l8 8M${x + 4} 1l-8 8`} />
    </g>
  );
}

function Chart({ panel, range, plot }: { panel: VisualPanel; range: Range; plot: number }) {
  const id = useFillId();
  const localize = useLocalized();
  const rows = panel.tracks.map((track) => track.values);
  const layers = useMemo(() => stackLayers(panel.tracks.map((track) => track.values)), [panel]);
  const stack = panel.shape === "stack";
  const high = findMaximum([
    ...(stack ? layers.map((layer) => layer.high) : rows),
    ...panel.related.map((track) => track.values),
    panel.levels.map((level) => level.figure.value),
  ]);
  const top = findScaleTop(high, panel.unit);
  const x = (i: number) => GUTTER + toX(panel.t_ns[i] ?? range.to, range, plot);
  const y = (value: number) => HEAD + PLOT - (Math.max(0, value) / top) * PLOT;
  const zero = panel.t_ns.map(() => 0);
  return (
    <>
      <FillPatterns id={id} />
      <text className={shared.name} x={GUTTER} y={12}>
        {localize(panel.label)}
      </text>
      <Legend panel={panel} id={id} x={GUTTER + plot} stack={stack} />
      <rect className={classes.background} x={GUTTER} y={HEAD} width={plot} height={PLOT} />
      {listUnreadTimes(panel, range, rows).map(([from, to]) => (
        <rect
          key={from}
          fill={`url(#${id}-none)`}
          x={GUTTER + toX(from, range, plot)}
          y={HEAD}
          width={Math.max(0, toX(to, range, plot) - toX(from, range, plot))}
          height={PLOT}
        />
      ))}
      <pattern id={`${id}-none`} width="7" height="7" patternUnits="userSpaceOnUse">
        <path d="M-1 5 5 -1M3 9 9 3" className={classes.hatch} />
      </pattern>
      {panel.tracks.map((track, n) => (
        <g key={track.id} data-track={n}>
          {stack && layers[n] && (
            <path className={classes.layer} fill={fillUrl(id, n)} d={areaPath(layers[n], x, y)} />
          )}
          {panel.shape === "area" && n === 0 && (
            <path className={classes.area} d={areaPath({ low: zero, high: track.values }, x, y)} />
          )}
          <path
            className={classes.line}
            data-n={n}
            d={linePath(layers[n] && stack ? layers[n].high : track.values, x, y)}
          />
        </g>
      ))}
      {panel.related.map((track) => (
        <path key={track.id} className={classes.related} d={linePath(track.values, x, y)} />
      ))}
      {panel.levels.map((level, i) => (
        <g key={i} className={classes.level}>
          <path d={`M${GUTTER} ${y(level.figure.value)}h${plot}`} />
          <text
            x={GUTTER + plot - 4}
            y={y(level.figure.value) + (y(level.figure.value) > HEAD + 14 ? -4 : 12)}
            textAnchor="end"
          >
            {localize(level.label)} {formatQuantity(level.figure.value, level.figure.unit)}
          </text>
        </g>
      ))}
      <path className={classes.baseline} d={`M${GUTTER} ${HEAD + PLOT}h${plot}`} />
      <text className={classes.scale} x={GUTTER - 6} y={HEAD + 9} textAnchor="end">
        {formatQuantity(top, panel.unit)}
      </text>
      <text className={classes.scale} x={GUTTER - 6} y={HEAD + PLOT} textAnchor="end">
        0
      </text>
    </>
  );
}

/** Return the times without readings, also before the first and after the last, if longer than 1.5 median steps. */
function listUnreadTimes(panel: VisualPanel, range: Range, rows: readonly Values[]): [number, number][] {
  const step = medianStep(panel.t_ns) * 1.5;
  const at = (i: number) => panel.t_ns[i];
  return listGaps(rows, panel.t_ns.length)
    .concat([
      [-1, 0],
      [panel.t_ns.length - 1, panel.t_ns.length],
    ])
    .map(([before, after]): [number, number] => [at(before) ?? range.from, at(after) ?? range.to])
    .filter(([from, to]) => to - from > step);
}

const LETTER = 6.7;
const SAMPLE = 20;

/** Render the legend from right to left. Series that do not fit are only in the values below the chart. */
function Legend({ panel, id, x, stack }: { panel: VisualPanel; id: string; x: number; stack: boolean }) {
  const localize = useLocalized();
  const named: { label: VisualLabel; n: number }[] = [
    ...panel.tracks.map((track, n) => ({ label: track.label, n })),
    ...panel.related.map((track) => ({ label: track.label, n: -1 })),
  ];
  if (named.length < 2) return null;
  let left = x;
  const room = GUTTER + localize(panel.label).length * LETTER + 24;
  return [...named].reverse().map(({ label, n }) => {
    const text = localize(label);
    const wide = [...text].reduce((sum, item) => sum + (item > "\u1100" ? 2 : 1), 0) * LETTER;
    left -= wide + SAMPLE + 12;
    if (left < room) return null;
    return (
      <g key={`${n} ${text}`} transform={`translate(${left} 0)`}>
        {stack && n >= 0 ? (
          <rect className={classes.layer} fill={fillUrl(id, n)} width="14" height="9" y="4" />
        ) : (
          <path className={n < 0 ? classes.related : classes.line} data-n={n} d="M0 8h16" />
        )}
        <text x={SAMPLE} y={12}>
          {text}
        </text>
      </g>
    );
  });
}
