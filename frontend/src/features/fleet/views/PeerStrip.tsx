import { useTranslation } from "react-i18next";
import { swarm } from "../../core/fleet";
import { quantity } from "../../core/format";
import classes from "./Fleet.module.css";

interface Dot {
  host_id: string;
  name: string;
  value: number;
  unlike: boolean;
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
/** Percent of the width that stay free at both ends, and a dot's width where a strip is narrow. */
const EDGE = 1.5;
const DOT = 1.1;

/** Every host as a dot on one axis, with the median; odd ones are hollow and larger, so that it needs no colour. */
export function Strip({ dots, median, unit, label, onOpen }: Props) {
  const { t } = useTranslation();
  const values = dots.map((one) => one.value);
  const low = Math.min(...values, median);
  const high = Math.max(...values, median);
  const place = (value: number) =>
    high === low ? 50 : EDGE + ((value - low) / (high - low)) * (100 - 2 * EDGE);
  const xs = values.map(place);
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
          x1={`${place(median)}%`}
          x2={`${place(median)}%`}
          y1={4}
          y2={LINE + 9}
          className={classes.middle}
        />
        {dots.map((one, i) => (
          // biome-ignore lint/a11y/noStaticElementInteractions: the odd ones stand beside it as buttons
          <circle
            key={one.host_id}
            cx={`${xs[i]}%`}
            cy={LINE - (above[i] ?? 0) * STEP}
            r={one.unlike ? 4 : 2.6}
            className={one.unlike ? classes.unlike : classes.like}
            onClick={() => onOpen(one.host_id)}
          >
            <title>{`${one.name} ${quantity(one.value, unit)}`}</title>
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
