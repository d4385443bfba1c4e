import { DataTable } from "../../../components/tables/DataTable";
import { measureTextWidth, shortenText, ticksWithin } from "../../../core/charts/chartScale";
import { formatMilliseconds } from "../../../core/text/format";
import { NS_PER_MS, toX } from "../../../core/time/range";
import { useLocalized } from "../../../lib/text/i18n";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { GanttBody, GanttSpan, GanttTrack } from "../api";
import { ChartSvg } from "../ChartSvg";
import { useSourceLink } from "../ChartValue";
import classes from "../charts.module.css";
import { FillPatterns, fillUrl, Swatch, useFillId } from "../Legend";
import { useWidth } from "../useWidth";
import { useZoom } from "../useZoom";

const TRACK_PX = 24;
/** Additional height of a track with brackets above its spans. */
const ABOVE = 10;
const BAR = 14;
const TOP = 20;
const LETTER = 6.7;

/** Render a track for each thread or CPU. The category of a span sets its pattern; requests are brackets above. */
export function GanttView({ body, label }: { body: GanttBody; label: string }) {
  const { ref, width } = useWidth();
  const { t } = useTranslation();
  const localize = useLocalized();
  const id = useFillId();
  const gutter = Math.min(
    width * 0.3,
    14 + LETTER * Math.max(6, ...body.tracks.map((track) => measureTextWidth(localize(track.label)))),
  );
  const most = Math.floor((gutter - 12) / LETTER);
  const room = Math.max(60, width - gutter - 10);
  const { box, range, zoomed, all, handlers, brush } = useZoom(
    { from: 0, to: body.span_ms * NS_PER_MS },
    { left: gutter, width: room },
  );
  const x = (ms: number) => gutter + toX(ms * NS_PER_MS, range, room);
  const asks = body.tracks.some((track) => track.brackets.length > 0);
  const trackHeight = TRACK_PX + (asks ? ABOVE : 0);
  const bottom = TOP + body.tracks.length * trackHeight;
  const inks = new Map(body.categories.map(([name], n) => [name, n]));
  const ticks = ticksWithin(range.from / NS_PER_MS, range.to / NS_PER_MS, width > 600 ? 8 : 4);
  return (
    <>
      <div ref={ref} className={classes.drawing}>
        {/* biome-ignore lint/a11y/useSemanticElements: no HTML element fits a chart with keyboard control */}
        <div
          ref={box}
          role="group"
          aria-label={t("visuals.zoom.hint")}
          className={classes.zoomable}
          {...handlers}
        >
          <ChartSvg width={width} height={bottom + 4} label={label}>
            <FillPatterns id={id} />
            <clipPath id={`${id}plot`}>
              <rect x={gutter} y={0} width={room} height={bottom + 4} />
            </clipPath>
            {ticks.map((tick) => (
              <g key={tick.at}>
                <line className={classes.gridline} x1={x(tick.at)} x2={x(tick.at)} y1={TOP - 4} y2={bottom} />
                <text
                  className={classes.axisText}
                  x={x(tick.at)}
                  y={11}
                  textAnchor={tick.at === 0 ? "start" : "middle"}
                >
                  +{tick.text}
                </text>
              </g>
            ))}
            {body.tracks.map((track, i) => (
              <g key={track.id} transform={`translate(0 ${TOP + i * trackHeight})`}>
                <title>{localize(track.label)}</title>
                <line className={classes.gridline} x1={gutter} x2={width} y1={trackHeight} y2={trackHeight} />
                <text className={classes.name} x={gutter - 8} y={trackHeight - 8} textAnchor="end">
                  {shortenText(localize(track.label), most)}
                </text>
              </g>
            ))}
            <g clipPath={`url(#${id}plot)`}>
              {body.tracks.map((track, i) => (
                <g key={track.id} transform={`translate(0 ${TOP + i * trackHeight})`}>
                  <Brackets track={track} x={x} />
                  <g transform={`translate(0 ${trackHeight - TRACK_PX})`}>
                    <Spans track={track} x={x} fill={(category) => fillUrl(id, inks.get(category) ?? 7)} />
                  </g>
                </g>
              ))}
              {brush && (
                <rect
                  className={classes.brush}
                  x={x(brush.from / NS_PER_MS)}
                  y={TOP - 4}
                  width={Math.max(1, x(brush.to / NS_PER_MS) - x(brush.from / NS_PER_MS))}
                  height={bottom - TOP + 4}
                />
              )}
            </g>
          </ChartSvg>
        </div>
      </div>
      <ul className={classes.legend}>
        {body.categories.map(([name, text], n) => (
          <li key={name}>
            <Swatch id={id} n={n} />
            {localize(text)}
          </li>
        ))}
        <li className="dim">
          {zoomed ? (
            <button type="button" className={classes.zoomOut} onClick={all}>
              {t("visuals.zoom.all")}
            </button>
          ) : (
            t("visuals.zoom.hint")
          )}
        </li>
      </ul>
    </>
  );
}

interface TrackProps {
  track: GanttTrack;
  x: (ms: number) => number;
}

const BRACKET_TEXT = 46;

/** Render the requests that a thread served. A request without a captured end has no right bracket. */
function Brackets({ track, x }: TrackProps) {
  const { t } = useTranslation();
  const source = useSourceLink();
  return track.brackets.map((ganttBracket, i) => {
    const from = x(ganttBracket.at_ms);
    const to = Math.max(from + 2, x(ganttBracket.at_ms + ganttBracket.ms));
    const name = [
      ganttBracket.label,
      formatMilliseconds(ganttBracket.ms),
      ganttBracket.open ? t("visuals.stillOpen") : "",
    ]
      .filter(Boolean)
      .join(" · ");
    return (
      <a key={i} {...source(track.citation, ganttBracket.line)} className={classes.mark}>
        <title>{name}</title>
        <rect className={classes.hitArea} x={from} y={0} width={to - from} height={ABOVE + 3} />
        <path
          className={classes.bracket}
          data-open={ganttBracket.open ? "" : undefined}
          d={`M${from} ${ABOVE + 2}V3.5H${to}${ganttBracket.open ? "" : `V${ABOVE + 2}`}`}
        />
        {to - from > BRACKET_TEXT && (
          <text className={classes.axisText} x={from + 4} y={ABOVE + 1.5}>
            {formatMilliseconds(ganttBracket.ms)}
          </text>
        )}
      </a>
    );
  });
}

interface SpansProps extends TrackProps {
  fill: (category: string) => string;
}

function Spans({ track, x, fill }: SpansProps) {
  const source = useSourceLink();
  return track.spans.map((span, i) => (
    <a key={i} {...source(track.citation, span.line)} className={classes.mark}>
      <title>{describeSpan(span)}</title>
      <rect
        className={classes.part}
        data-tone={span.mark ? "bad" : "none"}
        x={x(span.at_ms)}
        y={5}
        width={Math.max(1.5, x(span.at_ms + span.ms) - x(span.at_ms))}
        height={BAR}
        fill={span.mark ? undefined : fill(span.category)}
      />
      {span.mark && (
        <text className={classes.axisText} data-tone="bad" x={x(span.at_ms) + 2} y={3.5}>
          {span.mark}
        </text>
      )}
    </a>
  ));
}

const describeSpan = ({ label, ms, mark }: GanttSpan): string =>
  [label, formatMilliseconds(ms), mark].filter(Boolean).join(" · ");

/** Render spans and requests as a table with start and duration. */
export function GanttTable({ body, label }: { body: GanttBody; label: string }) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const source = useSourceLink();
  const kinds = new Map(body.categories.map(([name, text]) => [name, localize(text)]));
  return (
    <DataTable label={label} maxHeight={420}>
      <thead>
        <tr>
          <th>{t("visuals.track")}</th>
          <th className="right">{t("visuals.begins")}</th>
          <th className="right">{t("visuals.lasts")}</th>
          <th>{t("visuals.class")}</th>
          <th>{t("visuals.what")}</th>
        </tr>
      </thead>
      <tbody>
        {body.tracks.flatMap((track) =>
          [
            ...track.brackets.map((ganttBracket) => ({
              ...ganttBracket,
              category: "",
              mark: ganttBracket.open ? t("visuals.stillOpen") : "",
            })),
            ...track.spans,
          ].map((span, i) => (
            <tr key={`${track.id}/${i}`}>
              <td className="mono">{localize(track.label)}</td>
              <td className="right num">+{formatMilliseconds(span.at_ms)}</td>
              <td className="right num">
                <a {...source(track.citation, span.line)} tabIndex={0} className={classes.value}>
                  {formatMilliseconds(span.ms)}
                </a>
              </td>
              <td>{span.category ? (kinds.get(span.category) ?? span.category) : t("visuals.request")}</td>
              <td className="mono">
                {span.label} {span.mark}
              </td>
            </tr>
          )),
        )}
      </tbody>
    </DataTable>
  );
}
