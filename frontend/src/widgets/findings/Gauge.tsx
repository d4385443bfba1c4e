import { cx } from "../../core/cx";
import { type ComparedFigure, confidenceInterval, createScale } from "../../core/text/figures";
import classes from "./Findings.module.css";

const SHARE_UNITS = new Set(["pct", "percent", "%", "ratio"]);

/**
 * Render a number as a bar, with its threshold (solid tick), baseline (hollow tick) and interval. The scale is
 * logarithmic, and labeled so, if the values are far apart. The text next to the gauge has the same numbers.
 */
export function Gauge({ figure, not_matched = false }: { figure: ComparedFigure; not_matched?: boolean }) {
  const { value, threshold, baseline, unit, op } = figure;
  const interval = confidenceInterval(figure);
  const [low, high] = [interval?.low ?? value, interval?.high ?? value];
  const values = [value, threshold, low, high, ...(baseline === null ? [] : [baseline])];
  const scale = createScale(values, SHARE_UNITS.has(unit) && unit !== "ratio");
  const left = (x: number) => `${scale.at(x) * 100}%`;
  const between = (x: number, y: number) => `${(scale.at(y) - scale.at(x)) * 100}%`;
  const below = op.startsWith("<");
  return (
    <span className={classes.gauge} aria-hidden>
      <span
        className={classes.thresholdZone}
        style={below ? { left: 0, width: left(threshold) } : { left: left(threshold), right: 0 }}
      />
      <span
        className={cx(classes.value, not_matched && classes.within)}
        style={{ width: value === 0 ? 2 : `max(2px, ${left(value)})` }}
      />
      {!below && value > threshold && (
        <span
          className={classes.excess}
          style={{ left: left(threshold), width: between(threshold, value) }}
        />
      )}
      {baseline !== null && <span className={classes.before} style={{ left: left(baseline) }} />}
      {interval && (
        <span className={classes.intervalBar} style={{ left: left(low), width: between(low, high) }} />
      )}
      <span className={classes.limit} style={{ left: left(threshold) }} />
      {scale.log && <span className={classes.log}>log</span>}
    </span>
  );
}
