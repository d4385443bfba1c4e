import { StatusIcon as Sign } from "../../../components/StatusIcon";
import { DataTable } from "../../../components/tables/DataTable";
import { measureTextWidth, shortenText } from "../../../core/charts/chartScale";
import { findValueRange, layOutBeeswarm } from "../../../core/charts/panels";
import { formatNumber, formatQuantity, NO_VALUE } from "../../../core/text/format";
import { useLocalized } from "../../../lib/text/i18n";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { PeerStripsBody, VisualDot, VisualStrip } from "../api";
import { ChartSvg } from "../ChartSvg";
import { ChartMark, ChartValue } from "../ChartValue";
import shared from "../charts.module.css";
import { useWidth } from "../useWidth";
import classes from "./PeerStrips.module.css";

const ROW = 70;
const LINE = 36;
const RADIUS = 3;
const MAX_DOT_OFFSET = 12;
const SIDE = 12;
const LETTER = 6.7;
/** Below this width in px, the numbers next to a name are abbreviated. */
const MIN_WIDE_PX = 560;
/** Maximum number of host names in a strip; more would overlap. */
const MAX_NAMES = 4;

/** Render a strip for each number: a dot is a host, the band is the common range, ✕ is an outlier. */
export function PeerStripsView({ body, label }: { body: PeerStripsBody; label: string }) {
  const { ref, width } = useWidth();
  return (
    <div ref={ref} className={shared.drawing}>
      <ChartSvg width={width} height={body.strips.length * ROW + 4} label={label}>
        {body.strips.map((visualStrip, i) => (
          <g key={visualStrip.id} transform={`translate(0 ${i * ROW})`}>
            <StripRow strip={visualStrip} width={width} />
          </g>
        ))}
      </ChartSvg>
    </div>
  );
}

/** Render a strip of `width` × ROW px. */
function StripRow({ strip, width }: { strip: VisualStrip; width: number }) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const name = localize(strip.label);
  const { from, to } = findValueRange(strip.dots.map((visualDot) => visualDot.figure.value));
  const x = (value: number) => SIDE + ((value - from) / (to - from)) * (width - 2 * SIDE);
  const quiet = strip.dots.filter((visualDot) => !visualDot.unlike && !visualDot.own);
  const ys = layOutBeeswarm(
    quiet.map((visualDot) => x(visualDot.figure.value)),
    RADIUS,
    MAX_DOT_OFFSET,
  );
  const highlighted = strip.dots.filter((visualDot) => visualDot.unlike || visualDot.own);
  const own = strip.dots.find((visualDot) => visualDot.own);
  const unlike = strip.dots.filter((visualDot) => visualDot.unlike).length;
  const sums = [
    own && formatQuantity(own.figure.value, own.figure.unit),
    width >= MIN_WIDE_PX &&
      strip.median !== null &&
      `${t("visuals.peers.median")} ${formatQuantity(strip.median, strip.unit)}`,
    width >= MIN_WIDE_PX
      ? t("visuals.peers.outlierCount", { unlike, hosts: strip.hosts })
      : `✕ ${unlike}/${strip.hosts}`,
  ]
    .filter(Boolean)
    .join(" · ");
  return (
    <>
      <text className={shared.name} x={SIDE} y={12}>
        {shortenText(name, Math.floor((width - 2 * SIDE) / LETTER) - measureTextWidth(sums) - 2)}
      </text>
      <text className={classes.count} x={width - SIDE} y={12} textAnchor="end">
        {sums}
      </text>
      {strip.low !== null && strip.high !== null && (
        <rect
          className={classes.band}
          x={x(Math.max(from, strip.low))}
          y={LINE - MAX_DOT_OFFSET - 4}
          width={Math.max(2, x(Math.min(to, strip.high)) - x(Math.max(from, strip.low)))}
          height={2 * MAX_DOT_OFFSET + 8}
        />
      )}
      <path className={classes.line} d={`M${SIDE} ${LINE}H${width - SIDE}`} />
      {strip.median !== null && (
        <path
          className={classes.median}
          d={`M${x(strip.median)} ${LINE - MAX_DOT_OFFSET - 4}v${2 * MAX_DOT_OFFSET + 8}`}
        />
      )}
      {quiet.map((visualDot, i) => (
        <circle
          key={visualDot.host}
          className={classes.dot}
          cx={x(visualDot.figure.value)}
          cy={LINE + (ys[i] ?? 0)}
          r={RADIUS}
        >
          <title>{`${visualDot.host} ${formatQuantity(visualDot.figure.value, visualDot.figure.unit)}`}</title>
        </circle>
      ))}
      {[...highlighted].reverse().map((visualDot) => (
        <OutlierMark key={visualDot.host} dot={visualDot} x={x(visualDot.figure.value)} strip={name} />
      ))}
      <Names
        dots={highlighted.filter((visualDot) => visualDot.unlike).slice(0, MAX_NAMES)}
        x={x}
        width={width}
      />
      <text className={classes.axisLabel} x={SIDE} y={ROW - 8}>
        {formatQuantity(from, strip.unit)}
      </text>
      <text className={classes.axisLabel} x={width - SIDE} y={ROW - 8} textAnchor="end">
        {formatQuantity(to, strip.unit)}
      </text>
    </>
  );
}

/** Render an outlier as a cross or the host of the run as a ring, as a link to the source line. */
function OutlierMark({ dot, x, strip }: { dot: VisualDot; x: number; strip: string }) {
  const { t } = useTranslation();
  const name = dot.own ? t("visuals.peers.own") : dot.host;
  return (
    <ChartMark
      figure={dot.figure}
      label={`${strip}, ${name}${dot.unlike ? `, ${t("visuals.peers.outlier")}` : ""}:`}
    >
      <title>{`${name} ${formatQuantity(dot.figure.value, dot.figure.unit)}`}</title>
      <rect className={shared.hitArea} x={x - 8} y={LINE - 10} width={16} height={20} />
      {dot.unlike && (
        <path className={classes.cross} d={`M${x - 4} ${LINE - 4}l8 8M${x + 4} ${LINE - 4}l-8 8`} />
      )}
      {dot.own && <circle className={classes.ownHost} cx={x} cy={LINE} r={7} />}
    </ChartMark>
  );
}

/** Render the names of outliers and of the host of the run, as far as they fit. */
function Names({
  dots,
  x,
  width,
}: {
  dots: readonly VisualDot[];
  x: (value: number) => number;
  width: number;
}) {
  const { t } = useTranslation();
  const taken: [number, number][] = [];
  return dots.map((visualDot) => {
    const text = shortenText(visualDot.own ? t("visuals.peers.own") : visualDot.host, 24);
    const wide = text.length * LETTER;
    const left = Math.max(SIDE, Math.min(x(visualDot.figure.value) - wide / 2, width - SIDE - wide));
    if (taken.some(([from, to]) => left < to + 6 && left + wide > from - 6)) return null;
    taken.push([left, left + wide]);
    return (
      <text key={visualDot.host} className={classes.hostName} x={left} y={LINE - 9}>
        {text}
      </text>
    );
  });
}

/** Render the number of each host as a table, strip by strip. */
export function PeerStripsTable({ body, label }: { body: PeerStripsBody; label: string }) {
  const { t } = useTranslation();
  const localize = useLocalized();
  return (
    <DataTable label={label} maxHeight={460} stack>
      <thead>
        <tr>
          <th>{t("visuals.what")}</th>
          <th>{t("visuals.peers.host")}</th>
          <th className="right">{t("visuals.value")}</th>
          <th className="right">{t("visuals.peers.median")}</th>
          <th className="right">z</th>
        </tr>
      </thead>
      <tbody>
        {body.strips.flatMap((strip) =>
          strip.dots.map((visualDot) => (
            <tr key={`${strip.id} ${visualDot.host}`}>
              <td>{localize(strip.label)}</td>
              <td className="mono">
                {visualDot.unlike ? (
                  <Sign tone="bad" title={t("visuals.peers.outlier")}>
                    {visualDot.own ? t("visuals.peers.own") : visualDot.host}
                  </Sign>
                ) : visualDot.own ? (
                  t("visuals.peers.own")
                ) : (
                  visualDot.host
                )}
              </td>
              <td className="right num">
                <ChartValue figure={visualDot.figure} label={`${localize(strip.label)}, ${visualDot.host}`} />
              </td>
              <td className="right num">
                {strip.median === null ? NO_VALUE : formatQuantity(strip.median, strip.unit)}
              </td>
              <td className="right num">{visualDot.z === null ? NO_VALUE : formatNumber(visualDot.z)}</td>
            </tr>
          )),
        )}
      </tbody>
    </DataTable>
  );
}
