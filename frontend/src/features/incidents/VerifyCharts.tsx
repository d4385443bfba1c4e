import { useTranslation } from "react-i18next";
import type { Judged, VerificationWindow } from "../../client/incidents";
import { percent, quantity } from "../../core/format";
import { cx } from "../../core/cx";
import classes from "./Fixes.module.css";

const W = 360;
const LEFT = 64;
const RIGHT = 348;

const meanOf = (windows: readonly VerificationWindow[]): number | undefined => {
  const seen = windows.flatMap((one) => one.mean ?? []);
  return seen.length > 0 ? seen.reduce((a, b) => a + b, 0) / seen.length : undefined;
};

/** Every window before and after as a point on one axis from zero; the mark is the mean of a side. */
export function WindowsChart({ result }: { result: Judged }) {
  const { t } = useTranslation();
  const all = [...result.before, ...result.after].flatMap((one) => one.mean ?? []);
  if (all.length === 0) return <div />;
  const top = Math.max(...all, 0) * 1.08 || 1;
  const low = Math.min(...all, 0);
  const x = (value: number) => LEFT + ((value - low) / (top - low)) * (RIGHT - LEFT);
  const side = (windows: readonly VerificationWindow[], y: number, which: "before" | "after") => {
    const mean = meanOf(windows);
    return (
      <g>
        <text x={0} y={y + 4} className={classes.side}>
          {t(`incidents.verify.${which}`)}
        </text>
        <line x1={LEFT} x2={RIGHT} y1={y} y2={y} className={classes.axis} />
        {windows.map((one, i) =>
          one.mean === null ? null : (
            <circle key={one.run_id ?? i} cx={x(one.mean)} cy={y} r="4" className={classes[which]}>
              <title>{quantity(one.mean, result.unit)}</title>
            </circle>
          ),
        )}
        {mean !== undefined && (
          <>
            <line x1={x(mean)} x2={x(mean)} y1={y - 9} y2={y + 9} className={classes.mean} />
            <text x={x(mean)} y={y - 12} textAnchor="middle" className={classes.tick}>
              {quantity(mean, result.unit)}
            </text>
          </>
        )}
      </g>
    );
  };
  return (
    <figure className={classes.chart}>
      <svg viewBox={`0 0 ${W} 92`} role="img" aria-label={t("incidents.verify.windows")}>
        {side(result.before, 28, "before")}
        {side(result.after, 74, "after")}
      </svg>
      <figcaption>
        {t("incidents.verify.windowsText", { before: result.before.length, after: result.after.length })}
      </figcaption>
    </figure>
  );
}

/** The change with its 95 % interval, against the bar below which no change counts. */
export function IntervalChart({ result }: { result: Judged }) {
  const { t } = useTranslation();
  const { change, low, high, bar } = result;
  if (change === null || low === null || high === null) return <div />;
  const reach = Math.max(bar * 1.6, Math.abs(low), Math.abs(high)) * 1.1;
  const from = 12;
  const x = (share: number) => from + ((share + reach) / (2 * reach)) * (RIGHT - from);
  return (
    <figure className={cx(classes.chart, classes[result.outcome])}>
      <svg viewBox={`0 0 ${W} 92`} role="img" aria-label={t("incidents.verify.interval")}>
        <rect x={x(-bar)} y={14} width={x(bar) - x(-bar)} height={52} className={classes.bar} />
        {[-bar, bar].map((at) => (
          <g key={at}>
            <line x1={x(at)} x2={x(at)} y1={14} y2={66} className={classes.barEdge} />
            <text x={x(at)} y={80} textAnchor="middle" className={classes.tick}>
              {at > 0 ? "+" : ""}
              {percent(at)}
            </text>
          </g>
        ))}
        <line x1={from} x2={RIGHT} y1={66} y2={66} className={classes.axis} />
        <line x1={x(0)} x2={x(0)} y1={10} y2={66} className={classes.zero} />
        <line x1={x(low)} x2={x(high)} y1={40} y2={40} className={classes.interval} />
        <circle cx={x(change)} cy={40} r="5" className={classes.point} />
        <text x={x(change)} y={30} textAnchor="middle" className={classes.tick}>
          {change > 0 ? "+" : ""}
          {percent(change)}
        </text>
      </svg>
      <figcaption>{t("incidents.verify.intervalText", { bar: percent(bar) })}</figcaption>
    </figure>
  );
}
