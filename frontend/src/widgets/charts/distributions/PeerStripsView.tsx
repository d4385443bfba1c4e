import { useTranslation } from "react-i18next";
import type { PeerStripsBody, VisualDot, VisualStrip } from "../../client/hostVisuals";
import { Grid } from "../../components/Grid";
import { Mark as Sign } from "../../components/Mark";
import { NO_VALUE, number, quantity } from "../../core/format";
import { extent, swarm } from "../../core/panels";
import { shortened, wideLength } from "../../core/picture";
import { usePick } from "../../lib/i18n";
import { Drawing } from "./Drawing";
import classes from "./PeerStrips.module.css";
import { useWidth } from "./useWidth";
import { Mark, Value } from "./Value";
import shared from "./Visuals.module.css";

const ROW = 70;
const LINE = 36;
const RADIUS = 3;
const ROOM = 12;
const SIDE = 12;
const LETTER = 6.7;
/** Below this many pixels the sums beside a name are told in short. */
const ROOMY = 560;
/** More names than this would cover each other. */
const NAMED = 4;

/** A strip for each number: a dot is a host, the band is where they are like each other, ✕ stands out of it. */
export function PeerStripsView({ body, label }: { body: PeerStripsBody; label: string }) {
  const { ref, width } = useWidth();
  return (
    <div ref={ref} className={shared.drawing}>
      <Drawing width={width} height={body.strips.length * ROW + 4} label={label}>
        {body.strips.map((one, i) => (
          <g key={one.id} transform={`translate(0 ${i * ROW})`}>
            <StripRow strip={one} width={width} />
          </g>
        ))}
      </Drawing>
    </div>
  );
}

/** One strip; `width` pixels wide and ROW high. */
function StripRow({ strip, width }: { strip: VisualStrip; width: number }) {
  const { t } = useTranslation();
  const pick = usePick();
  const name = pick(strip.label);
  const { from, to } = extent(strip.dots.map((one) => one.figure.value));
  const x = (value: number) => SIDE + ((value - from) / (to - from)) * (width - 2 * SIDE);
  const quiet = strip.dots.filter((one) => !one.unlike && !one.own);
  const ys = swarm(
    quiet.map((one) => x(one.figure.value)),
    RADIUS,
    ROOM,
  );
  const loud = strip.dots.filter((one) => one.unlike || one.own);
  const own = strip.dots.find((one) => one.own);
  const unlike = strip.dots.filter((one) => one.unlike).length;
  const sums = [
    own && quantity(own.figure.value, own.figure.unit),
    width >= ROOMY &&
      strip.median !== null &&
      `${t("visuals.peers.median")} ${quantity(strip.median, strip.unit)}`,
    width >= ROOMY ? t("visuals.peers.unlike", { unlike, hosts: strip.hosts }) : `✕ ${unlike}/${strip.hosts}`,
  ]
    .filter(Boolean)
    .join(" · ");
  return (
    <>
      <text className={shared.name} x={SIDE} y={12}>
        {shortened(name, Math.floor((width - 2 * SIDE) / LETTER) - wideLength(sums) - 2)}
      </text>
      <text className={classes.count} x={width - SIDE} y={12} textAnchor="end">
        {sums}
      </text>
      {strip.low !== null && strip.high !== null && (
        <rect
          className={classes.band}
          x={x(Math.max(from, strip.low))}
          y={LINE - ROOM - 4}
          width={Math.max(2, x(Math.min(to, strip.high)) - x(Math.max(from, strip.low)))}
          height={2 * ROOM + 8}
        />
      )}
      <path className={classes.line} d={`M${SIDE} ${LINE}H${width - SIDE}`} />
      {strip.median !== null && (
        <path className={classes.median} d={`M${x(strip.median)} ${LINE - ROOM - 4}v${2 * ROOM + 8}`} />
      )}
      {quiet.map((one, i) => (
        <circle
          key={one.host}
          className={classes.dot}
          cx={x(one.figure.value)}
          cy={LINE + (ys[i] ?? 0)}
          r={RADIUS}
        >
          <title>{`${one.host} ${quantity(one.figure.value, one.figure.unit)}`}</title>
        </circle>
      ))}
      {[...loud].reverse().map((one) => (
        <Loud key={one.host} dot={one} x={x(one.figure.value)} strip={name} />
      ))}
      <Names dots={loud.filter((one) => one.unlike).slice(0, NAMED)} x={x} width={width} />
      <text className={classes.end} x={SIDE} y={ROW - 8}>
        {quantity(from, strip.unit)}
      </text>
      <text className={classes.end} x={width - SIDE} y={ROW - 8} textAnchor="end">
        {quantity(to, strip.unit)}
      </text>
    </>
  );
}

/** What stands out is a cross, the host that is asked about a ring; both lead to their line. */
function Loud({ dot, x, strip }: { dot: VisualDot; x: number; strip: string }) {
  const { t } = useTranslation();
  const name = dot.own ? t("visuals.peers.own") : dot.host;
  return (
    <Mark figure={dot.figure} label={`${strip}, ${name}${dot.unlike ? `, ${t("visuals.peers.out")}` : ""}:`}>
      <title>{`${name} ${quantity(dot.figure.value, dot.figure.unit)}`}</title>
      <rect className={shared.hit} x={x - 8} y={LINE - 10} width={16} height={20} />
      {dot.unlike && (
        <path className={classes.cross} d={`M${x - 4} ${LINE - 4}l8 8M${x + 4} ${LINE - 4}l-8 8`} />
      )}
      {dot.own && <circle className={classes.own} cx={x} cy={LINE} r={7} />}
    </Mark>
  );
}

/** The names of those that stand out, where there is room for them. */
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
  return dots.map((one) => {
    const text = shortened(one.own ? t("visuals.peers.own") : one.host, 24);
    const wide = text.length * LETTER;
    const left = Math.max(SIDE, Math.min(x(one.figure.value) - wide / 2, width - SIDE - wide));
    if (taken.some(([from, to]) => left < to + 6 && left + wide > from - 6)) return null;
    taken.push([left, left + wide]);
    return (
      <text key={one.host} className={classes.who} x={left} y={LINE - 9}>
        {text}
      </text>
    );
  });
}

/** Every host and its number, strip by strip. */
export function PeerStripsTable({ body, label }: { body: PeerStripsBody; label: string }) {
  const { t } = useTranslation();
  const pick = usePick();
  return (
    <Grid label={label} maxHeight={460} stack>
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
          strip.dots.map((one) => (
            <tr key={`${strip.id} ${one.host}`}>
              <td>{pick(strip.label)}</td>
              <td className="mono">
                {one.unlike ? (
                  <Sign tone="bad" title={t("visuals.peers.out")}>
                    {one.own ? t("visuals.peers.own") : one.host}
                  </Sign>
                ) : one.own ? (
                  t("visuals.peers.own")
                ) : (
                  one.host
                )}
              </td>
              <td className="right num">
                <Value figure={one.figure} label={`${pick(strip.label)}, ${one.host}`} />
              </td>
              <td className="right num">
                {strip.median === null ? NO_VALUE : quantity(strip.median, strip.unit)}
              </td>
              <td className="right num">{one.z === null ? NO_VALUE : number(one.z)}</td>
            </tr>
          )),
        )}
      </tbody>
    </Grid>
  );
}
