import { useTranslation } from "react-i18next";
import type { GanttBody, GanttLane, GanttSpan } from "../../client/visuals";
import { Grid } from "../../components/Grid";
import { milliseconds } from "../../core/format";
import { roundTicks, shortened, wideLength } from "../../core/picture";
import { usePick } from "../../lib/i18n";
import { Drawing } from "./Drawing";
import { InkDefs, ink, Swatch, useInkId } from "./Inks";
import { useWidth } from "./useWidth";
import { useSource } from "./Value";
import classes from "./Visuals.module.css";

const LANE = 24;
const BAR = 14;
const TOP = 20;
const LETTER = 6.7;

/** One lane for each thread or CPU, its spans by class: full, hatched, dotted, striped. */
export function GanttView({ body, label }: { body: GanttBody; label: string }) {
  const { ref, width } = useWidth();
  const pick = usePick();
  const id = useInkId();
  const gutter = Math.min(
    width * 0.3,
    14 + LETTER * Math.max(6, ...body.lanes.map((lane) => wideLength(pick(lane.label)))),
  );
  const most = Math.floor((gutter - 12) / LETTER);
  const room = Math.max(60, width - gutter - 10);
  const x = (ms: number) => gutter + (room * Math.max(0, ms)) / body.span_ms;
  const inks = new Map(body.classes.map(([name], n) => [name, n]));
  const ticks = roundTicks(body.span_ms, width > 600 ? 8 : 4).filter((tick) => tick <= body.span_ms);
  return (
    <>
      <div ref={ref} className={classes.drawing}>
        <Drawing width={width} height={TOP + body.lanes.length * LANE + 4} label={label}>
          <InkDefs id={id} />
          {ticks.map((tick) => (
            <g key={tick}>
              <line
                className={classes.gridline}
                x1={x(tick)}
                x2={x(tick)}
                y1={TOP - 4}
                y2={TOP + body.lanes.length * LANE}
              />
              <text
                className={classes.axisText}
                x={x(tick)}
                y={11}
                textAnchor={tick === 0 ? "start" : "middle"}
              >
                +{milliseconds(tick)}
              </text>
            </g>
          ))}
          {body.lanes.map((lane, i) => (
            <g key={lane.id} transform={`translate(0 ${TOP + i * LANE})`}>
              <title>{pick(lane.label)}</title>
              <line className={classes.gridline} x1={gutter} x2={width} y1={LANE} y2={LANE} />
              <text className={classes.name} x={gutter - 8} y={16} textAnchor="end">
                {shortened(pick(lane.label), most)}
              </text>
              <Spans lane={lane} x={x} fill={(cls) => ink(id, inks.get(cls) ?? 7)} />
            </g>
          ))}
        </Drawing>
      </div>
      <ul className={classes.legend}>
        {body.classes.map(([name, text], n) => (
          <li key={name}>
            <Swatch id={id} n={n} />
            {pick(text)}
          </li>
        ))}
      </ul>
    </>
  );
}

interface SpansProps {
  lane: GanttLane;
  x: (ms: number) => number;
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

/** The same as a table: every span with its beginning and its length. */
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
          lane.spans.map((span, i) => (
            <tr key={`${lane.id}/${i}`}>
              <td className="mono">{pick(lane.label)}</td>
              <td className="right num">+{milliseconds(span.at_ms)}</td>
              <td className="right num">
                <a {...source(lane.cite, span.line)} tabIndex={0} className={classes.value}>
                  {milliseconds(span.ms)}
                </a>
              </td>
              <td>{kinds.get(span.cls) ?? span.cls}</td>
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
