import { assignDotLevels } from "../../../core/hosts/fleet";
import { formatQuantity } from "../../../core/text/format";
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
const LEVEL_PX = 6;
const MAX_DOT_LEVELS = 5;
/** Percent of the width that stays free at both ends: the width of a dot on a narrow strip. */
const EDGE_PCT = 1.5;
const DOT_PCT = 1.1;

/** Strip of hosts as dots on an axis with the median; outliers are hollow and larger, not only colored. */
export function PeerStrip({ dots, median, unit, label, onOpen }: Props) {
  const { t } = useTranslation();
  const values = dots.map((dot) => dot.value);
  const low = Math.min(...values, median);
  const high = Math.max(...values, median);
  const toPercent = (value: number) =>
    high === low ? 50 : EDGE_PCT + ((value - low) / (high - low)) * (100 - 2 * EDGE_PCT);
  const xs = values.map(toPercent);
  const above = assignDotLevels(xs, DOT_PCT, MAX_DOT_LEVELS);
  return (
    <div className={classes.strip}>
      <svg
        height={HEIGHT}
        width="100%"
        role="img"
        aria-label={t("fleet.strip", { label, count: dots.length })}
      >
        <line
          x1={`${EDGE_PCT}%`}
          x2={`${100 - EDGE_PCT}%`}
          y1={LINE + 5}
          y2={LINE + 5}
          className={classes.axis}
        />
        <line
          x1={`${toPercent(median)}%`}
          x2={`${toPercent(median)}%`}
          y1={4}
          y2={LINE + 9}
          className={classes.median}
        />
        {dots.map((dot, i) => (
          // biome-ignore lint/a11y/noStaticElementInteractions: the outliers are buttons next to the strip
          <circle
            key={dot.host_id}
            cx={`${xs[i]}%`}
            cy={LINE - (above[i] ?? 0) * LEVEL_PX}
            r={dot.is_outlier ? 4 : 2.6}
            className={dot.is_outlier ? classes.outlier : classes.typical}
            onClick={() => onOpen(dot.host_id)}
          >
            <title>{`${dot.name} ${formatQuantity(dot.value, unit)}`}</title>
          </circle>
        ))}
      </svg>
      <span className={classes.axisLabels}>
        <span className="num">{formatQuantity(low, unit)}</span>
        <span className="num">{formatQuantity(high, unit)}</span>
      </span>
    </div>
  );
}
