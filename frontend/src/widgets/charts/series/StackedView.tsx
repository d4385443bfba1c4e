import { DataTable } from "../../../components/tables/DataTable";
import { roundTicks } from "../../../core/charts/chartScale";
import { formatQuantity, NO_VALUE } from "../../../core/text/format";
import { useLocalized } from "../../../lib/text/i18n";
import { useTimeFormat } from "../../../lib/text/useFormat";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { StackedBody, VisualFigure, VisualTrack } from "../api";
import { ChartSvg } from "../ChartSvg";
import { ChartValue, useSourceLink } from "../ChartValue";
import classes from "../charts.module.css";
import { FILL_COUNT, FillPatterns, fillUrl, Swatch, useFillId } from "../Legend";
import { useWidth } from "../useWidth";

const HEIGHT = 180;
const TOP = 8;
const BOTTOM = 20;
const LEFT = 52;
const WIDEST = 72;

/** Render a stacked bar for each reading, with the last value and the maximum of each series below. */
export function StackedView({ body, label }: { body: StackedBody; label: string }) {
  const { t } = useTranslation();
  const { ref, width } = useWidth();
  const localize = useLocalized();
  const time = useTimeFormat();
  const id = useFillId();
  const sums = body.t_ms.map((_, i) => body.tracks.reduce((sum, track) => sum + (track.values[i] ?? 0), 0));
  const ticks = roundTicks(Math.max(1, ...sums), 4);
  const top = ticks.at(-1) || 1;
  const room = width - LEFT - 8;
  const slot = room / Math.max(1, body.t_ms.length);
  const bar = Math.max(1, Math.min(WIDEST, slot * 0.72));
  const x = (i: number) => LEFT + slot * i + (slot - bar) / 2;
  const y = (value: number) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / top);
  const named = [...new Set([0, body.t_ms.length - 1])].filter((i) => i >= 0);
  return (
    <>
      <div ref={ref} className={classes.drawing}>
        <ChartSvg width={width} height={HEIGHT} label={label}>
          <FillPatterns id={id} />
          {ticks.map((tick) => (
            <g key={tick}>
              <line className={classes.gridline} x1={LEFT} x2={width - 8} y1={y(tick)} y2={y(tick)} />
              <text className={classes.axisText} x={LEFT - 6} y={y(tick) + 4} textAnchor="end">
                {formatQuantity(tick, body.unit)}
              </text>
            </g>
          ))}
          {body.t_ms.map((_, i) => (
            <Bar key={i} tracks={body.tracks} at={i} x={x(i)} width={bar} y={y} inks={id} />
          ))}
          {named.map((i) => (
            <text
              key={i}
              className={classes.axisText}
              x={i === 0 ? LEFT : width - 8}
              y={HEIGHT - 5}
              textAnchor={i === 0 ? "start" : "end"}
            >
              {time.time((body.t_ms[i] ?? 0) * 1e6)}
            </text>
          ))}
        </ChartSvg>
      </div>
      <ul className={classes.legend}>
        {body.tracks.map((track, n) => (
          <li key={track.id}>
            <Swatch id={id} n={n} />
            {n >= FILL_COUNT && <span className="dim">{n + 1}. </span>}
            {localize(track.label)}{" "}
            <span className="num">
              <ChartValue figure={findLastFigure(track)} label={localize(track.label)} />
            </span>
            <span className="dim">
              {" "}
              {t("visuals.most")}{" "}
              <ChartValue figure={findMaximumFigure(track)} label={localize(track.label)} />
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}

interface BarProps {
  tracks: readonly VisualTrack[];
  at: number;
  x: number;
  width: number;
  y: (value: number) => number;
  inks: string;
}

function Bar({ tracks, at, x, width, y, inks }: BarProps) {
  const localize = useLocalized();
  const source = useSourceLink();
  let below = 0;
  const known = tracks.some((track) => track.values[at] != null);
  if (!known) return <rect className={classes.unknown} x={x} y={y(0) - 40} width={width} height={40} />;
  return (
    <g>
      {tracks.map((track, n) => {
        const value = track.values[at] ?? 0;
        const from = below;
        below += value;
        if (value <= 0) return null;
        return (
          <a key={track.id} {...source(track.citation, track.lines[at] ?? 0)} className={classes.mark}>
            <title>{`${localize(track.label)} ${formatQuantity(value, track.unit)}`}</title>
            <rect
              className={classes.part}
              x={x}
              y={y(below)}
              width={width}
              height={Math.max(1, y(from) - y(below))}
              fill={fillUrl(inks, n)}
            />
          </a>
        );
      })}
    </g>
  );
}

function readFigure(track: VisualTrack, at: number): VisualFigure | null {
  const value = track.values[at];
  const line = track.lines[at] ?? 0;
  return value == null
    ? null
    : { value, unit: track.unit, citation: { ...track.citation, lines: line > 0 ? [line] : [] } };
}

const findLastFigure = (track: VisualTrack): VisualFigure | null =>
  readFigure(
    track,
    track.values.findLastIndex((value) => value != null),
  );

function findMaximumFigure(track: VisualTrack): VisualFigure | null {
  const most = Math.max(...track.values.filter((value) => value != null));
  return readFigure(track, track.values.indexOf(most));
}

/** Render the readings as rows of a table. */
export function StackedTable({ body, label }: { body: StackedBody; label: string }) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const time = useTimeFormat();
  const source = useSourceLink();
  return (
    <DataTable label={label} maxHeight={420}>
      <thead>
        <tr>
          <th>{t("visuals.time")}</th>
          {body.tracks.map((track) => (
            <th key={track.id} className="right">
              {localize(track.label)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {body.t_ms.map((t_ms, i) => (
          <tr key={i}>
            <td className="num">{time.time(t_ms * 1e6, 1e9)}</td>
            {body.tracks.map((track) => (
              <td key={track.id} className="right num">
                {track.values[i] == null ? (
                  NO_VALUE
                ) : (
                  <a {...source(track.citation, track.lines[i] ?? 0)} tabIndex={0} className={classes.value}>
                    {formatQuantity(track.values[i], track.unit)}
                  </a>
                )}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </DataTable>
  );
}
