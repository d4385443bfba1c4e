import { useTranslation } from "react-i18next";
import type { GanttBody, GanttLane, GanttSpan } from "../../client/visuals";
import { Grid } from "../../components/Grid";
import { milliseconds } from "../../core/format";
import { shortened, ticksWithin, wideLength } from "../../core/picture";
import { NS_PER_MS, toX } from "../../core/range";
import { usePick } from "../../lib/i18n";
import { Drawing } from "./Drawing";
import { InkDefs, ink, Swatch, useInkId } from "./Inks";
import { useWidth } from "./useWidth";
import { useZoom } from "./useZoom";
import { useSource } from "./Value";
import classes from "./Visuals.module.css";

const LANE = 24;
/** What a lane is higher where brackets stand above its spans. */
const ABOVE = 10;
const BAR = 14;
const TOP = 20;
const LETTER = 6.7;

/** One lane for each thread or CPU, its spans by class: full, hatched, dotted, striped; requests as brackets above. */
export function GanttView({ body, label }: { body: GanttBody; label: string }) {
  const { ref, width } = useWidth();
  const { t } = useTranslation();
  const pick = usePick();
  const id = useInkId();
  const gutter = Math.min(
    width * 0.3,
    14 + LETTER * Math.max(6, ...body.lanes.map((lane) => wideLength(pick(lane.label)))),
  );
  const most = Math.floor((gutter - 12) / LETTER);
  const room = Math.max(60, width - gutter - 10);
  const { box, range, zoomed, all, hands, brush } = useZoom(
    { from: 0, to: body.span_ms * NS_PER_MS },
    { left: gutter, width: room },
  );
  const x = (ms: number) => gutter + toX(ms * NS_PER_MS, range, room);
  const asks = body.lanes.some((lane) => lane.brackets.length > 0);
  const lane = LANE + (asks ? ABOVE : 0);
  const bottom = TOP + body.lanes.length * lane;
  const inks = new Map(body.classes.map(([name], n) => [name, n]));
  const ticks = ticksWithin(range.from / NS_PER_MS, range.to / NS_PER_MS, width > 600 ? 8 : 4);
  return (
    <>
      <div ref={ref} className={classes.drawing}>
        {/* biome-ignore lint/a11y/useSemanticElements: a drawing with its own keys has no element of its own */}
        <div ref={box} role="group" aria-label={t("visuals.zoom.hint")} className={classes.zooms} {...hands}>
          <Drawing width={width} height={bottom + 4} label={label}>
            <InkDefs id={id} />
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
            {body.lanes.map((one, i) => (
              <g key={one.id} transform={`translate(0 ${TOP + i * lane})`}>
                <title>{pick(one.label)}</title>
                <line className={classes.gridline} x1={gutter} x2={width} y1={lane} y2={lane} />
                <text className={classes.name} x={gutter - 8} y={lane - 8} textAnchor="end">
                  {shortened(pick(one.label), most)}
                </text>
              </g>
            ))}
            <g clipPath={`url(#${id}plot)`}>
              {body.lanes.map((one, i) => (
                <g key={one.id} transform={`translate(0 ${TOP + i * lane})`}>
                  <Brackets lane={one} x={x} />
                  <g transform={`translate(0 ${lane - LANE})`}>
                    <Spans lane={one} x={x} fill={(cls) => ink(id, inks.get(cls) ?? 7)} />
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
          </Drawing>
        </div>
      </div>
      <ul className={classes.legend}>
        {body.classes.map(([name, text], n) => (
          <li key={name}>
            <Swatch id={id} n={n} />
            {pick(text)}
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

interface LaneProps {
  lane: GanttLane;
  x: (ms: number) => number;
}

const BRACKET_TEXT = 46;

/** Requests that a thread served, above what it did meanwhile; one whose end was not seen has no right end. */
function Brackets({ lane, x }: LaneProps) {
  const { t } = useTranslation();
  const source = useSource();
  return lane.brackets.map((one, i) => {
    const from = x(one.at_ms);
    const to = Math.max(from + 2, x(one.at_ms + one.ms));
    const name = [one.label, milliseconds(one.ms), one.open ? t("visuals.stillOpen") : ""]
      .filter(Boolean)
      .join(" · ");
    return (
      <a key={i} {...source(lane.cite, one.line)} className={classes.mark}>
        <title>{name}</title>
        <rect className={classes.hit} x={from} y={0} width={to - from} height={ABOVE + 3} />
        <path
          className={classes.bracket}
          data-open={one.open ? "" : undefined}
          d={`M${from} ${ABOVE + 2}V3.5H${to}${one.open ? "" : `V${ABOVE + 2}`}`}
        />
        {to - from > BRACKET_TEXT && (
          <text className={classes.axisText} x={from + 4} y={ABOVE + 1.5}>
            {milliseconds(one.ms)}
          </text>
        )}
      </a>
    );
  });
}

interface SpansProps extends LaneProps {
  fill: (cls: string) => string;
}

function Spans({ lane, x, fill }: SpansProps) {
  const source = useSource();
  return lane.spans.map((span, i) => (
    <a key={i} {...source(lane.cite, span.line)} className={classes.mark}>
      <title>{told(span)}</title>
      <rect
        className={classes.part}
        data-tone={span.mark ? "bad" : "none"}
        x={x(span.at_ms)}
        y={5}
        width={Math.max(1.5, x(span.at_ms + span.ms) - x(span.at_ms))}
        height={BAR}
        fill={span.mark ? undefined : fill(span.cls)}
      />
      {span.mark && (
        <text className={classes.axisText} data-tone="bad" x={x(span.at_ms) + 2} y={3.5}>
          {span.mark}
        </text>
      )}
    </a>
  ));
}

const told = ({ label, ms, mark }: GanttSpan): string =>
  [label, milliseconds(ms), mark].filter(Boolean).join(" · ");

/** The same as a table: every span and request with its beginning and its length. */
export function GanttTable({ body, label }: { body: GanttBody; label: string }) {
  const { t } = useTranslation();
  const pick = usePick();
  const source = useSource();
  const kinds = new Map(body.classes.map(([name, text]) => [name, pick(text)]));
  return (
    <Grid label={label} maxHeight={420}>
      <thead>
        <tr>
          <th>{t("visuals.lane")}</th>
          <th className="right">{t("visuals.begins")}</th>
          <th className="right">{t("visuals.lasts")}</th>
          <th>{t("visuals.class")}</th>
          <th>{t("visuals.what")}</th>
        </tr>
      </thead>
      <tbody>
        {body.lanes.flatMap((lane) =>
          [
            ...lane.brackets.map((one) => ({
              ...one,
              cls: "",
              mark: one.open ? t("visuals.stillOpen") : "",
            })),
            ...lane.spans,
          ].map((span, i) => (
            <tr key={`${lane.id}/${i}`}>
              <td className="mono">{pick(lane.label)}</td>
              <td className="right num">+{milliseconds(span.at_ms)}</td>
              <td className="right num">
                <a {...source(lane.cite, span.line)} tabIndex={0} className={classes.value}>
                  {milliseconds(span.ms)}
                </a>
              </td>
              <td>{span.cls ? (kinds.get(span.cls) ?? span.cls) : t("visuals.request")}</td>
              <td className="mono">
                {span.label} {span.mark}
              </td>
            </tr>
          )),
        )}
      </tbody>
    </Grid>
  );
}
