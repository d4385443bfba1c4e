import { swarm } from "../../../core/hosts/fleet";
import { quantity } from "../../../core/text/format";
import { useTranslation } from "../../../lib/text/useTranslation";
import classes from "../Fleet.module.css";

interface Dot {
  host_id: string;
  name: string;
  value: number;
  is_outlier: boolean;
}

interface Props {
  dots: readonly Dot[];
  median: number;
  unit: string;
  label: string;
  onOpen: (host: string) => void;
}

const HEIGHT = 46;
const LINE = 36;
const STEP = 6;
const MOST = 5;
/** Percent of the width that stays free at both ends: the width of a dot on a narrow strip. */
const EDGE = 1.5;
const DOT = 1.1;

/** Strip of hosts as dots on an axis with the median; outliers are hollow and larger, not only colored. */
export function PeerStrip({ dots, median, unit, label, onOpen }: Props) {
  const { t } = useTranslation();
  const values = dots.map((dot) => dot.value);
  const low = Math.min(...values, median);
  const high = Math.max(...values, median);
  const toPercent = (value: number) =>
    high === low ? 50 : EDGE + ((value - low) / (high - low)) * (100 - 2 * EDGE);
  const xs = values.map(toPercent);
  const above = swarm(xs, DOT, MOST);
  return (
    <div className={classes.strip}>
      <svg
        height={HEIGHT}
        width="100%"
        role="img"
        aria-label={t("fleet.strip", { label, count: dots.length })}
      >
        <line x1={`${EDGE}%`} x2={`${100 - EDGE}%`} y1={LINE + 5} y2={LINE + 5} className={classes.axis} />
        <line
          x1={`${toPercent(median)}%`}
          x2={`${toPercent(median)}%`}
          y1={4}
          y2={LINE + 9}
          className={classes.middle}
        />
        {dots.map((dot, i) => (
          // biome-ignore lint/a11y/noStaticElementInteractions: the outliers are buttons next to the strip
          <circle
            key={dot.host_id}
            cx={`${xs[i]}%`}
            cy={LINE - (above[i] ?? 0) * STEP}
            r={dot.is_outlier ? 4 : 2.6}
            className={dot.is_outlier ? classes.outlier : classes.member}
            onClick={() => onOpen(dot.host_id)}
          >
            <title>{`${dot.name} ${quantity(dot.value, unit)}`}</title>
          </circle>
        ))}
      </svg>
      <span className={classes.ends}>
        <span className="num">{quantity(low, unit)}</span>
        <span className="num">{quantity(high, unit)}</span>
      </span>
    </div>
  );
}
