import { cx } from "../../../core/cx";
import { formatPercent, formatQuantity } from "../../../core/text/format";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { VerificationResult, VerificationWindow } from "../api";
import classes from "../fixes/Fixes.module.css";

const WIDTH = 360;
const LEFT = 96;
const RIGHT = 348;
const ROW = 40;
const SIDES = ["before", "after", "control_before", "control_after"] as const;

export const averageWindows = (windows: readonly VerificationWindow[]): number | undefined => {
  const means = windows.flatMap((window) => window.mean ?? []);
  return means.length > 0 ? means.reduce((a, b) => a + b, 0) / means.length : undefined;
};

const listValues = ({ values }: VerificationWindow): number[] => values.filter((value) => value !== null);

/** Chart of all windows by side on a common axis that includes zero: a dot per mean, a line over its readings. */
export function WindowsChart({ result }: { result: VerificationResult }) {
  const { t } = useTranslation();
  const sides = SIDES.map((side) => ({
    side,
    windows: result.windows.filter((window) => window.side === side && window.mean !== null),
  })).filter(({ windows }) => windows.length > 0);
  const all = sides.flatMap(({ windows }) =>
    windows.flatMap((window) => [...listValues(window), window.mean ?? 0]),
  );
  if (all.length === 0) return null;
  const { unit } = result.primary;
  const top = Math.max(...all, 0) * 1.08 || 1;
  const low = Math.min(...all, 0);
  const x = (value: number) => LEFT + ((value - low) / (top - low)) * (RIGHT - LEFT);
  return (
    <figure className={classes.chart}>
      <svg
        viewBox={`0 0 ${WIDTH} ${sides.length * ROW + 12}`}
        role="img"
        aria-label={t("incidents.verify.windows")}
      >
        {sides.map(({ side, windows }, i) => {
          const y = i * ROW + 28;
          const mean = averageWindows(windows);
          return (
            <g key={side}>
              <text x={0} y={y + 4} className={classes.side}>
                {t(`incidents.verify.side.${side}`)}
              </text>
              <line x1={LEFT} x2={RIGHT} y1={y} y2={y} className={classes.axis} />
              {windows.map((window, at) => (
                <SpreadBar
                  key={window.run}
                  window={window}
                  x={x}
                  y={y + (at - (windows.length - 1) / 2) * 2}
                  side={side}
                  unit={unit}
                />
              ))}
              {mean !== undefined && (
                <>
                  <line x1={x(mean)} x2={x(mean)} y1={y - 9} y2={y + 9} className={classes.mean} />
                  <text
                    x={Math.min(Math.max(x(mean), LEFT + 20), RIGHT - 20)}
                    y={y - 12}
                    textAnchor="middle"
                    className={classes.tick}
                  >
                    {formatQuantity(mean, unit)}
                  </text>
                </>
              )}
            </g>
          );
        })}
      </svg>
      <figcaption>{t("incidents.verify.windowsText")}</figcaption>
    </figure>
  );
}

interface SpreadBarProps {
  window: VerificationWindow;
  x: (value: number) => number;
  y: number;
  side: (typeof SIDES)[number];
  unit: string;
}

function SpreadBar({ window, x, y, side, unit }: SpreadBarProps) {
  const readings = listValues(window);
  const mean = window.mean ?? 0;
  return (
    <g>
      {readings.length > 1 && (
        <line
          x1={x(Math.min(...readings))}
          x2={x(Math.max(...readings))}
          y1={y}
          y2={y}
          className={classes.range}
        />
      )}
      <circle cx={x(mean)} cy={y} r="4" className={side.endsWith("before") ? classes.before : classes.after}>
        <title>{`${window.host} ${formatQuantity(mean, unit)}, n ${readings.length}`}</title>
      </circle>
    </g>
  );
}

/** Chart of the relative change with its interval, and the band of ± minimum change in which no change counts. */
export function IntervalChart({ result }: { result: VerificationResult }) {
  const { t } = useTranslation();
  const { change, low, high, minimum_change } = result;
  if (change === null || low === null || high === null) return null;
  const reach = Math.max(minimum_change * 1.6, Math.abs(low), Math.abs(high)) * 1.1;
  const from = 12;
  const x = (share: number) => from + ((share + reach) / (2 * reach)) * (RIGHT - from);
  const sign = (share: number) => `${share > 0 ? "+" : ""}${formatPercent(share)}`;
  return (
    <figure className={cx(classes.chart, classes[result.outcome])}>
      <svg viewBox={`0 0 ${WIDTH} 92`} role="img" aria-label={t("incidents.verify.interval")}>
        <rect
          x={x(-minimum_change)}
          y={14}
          width={x(minimum_change) - x(-minimum_change)}
          height={52}
          className={classes.bar}
        />
        {[-minimum_change, minimum_change].map((at) => (
          <line key={at} x1={x(at)} x2={x(at)} y1={14} y2={66} className={classes.barEdge} />
        ))}
        <text x={x(0)} y={80} textAnchor="middle" className={classes.tick}>
          ±{formatPercent(minimum_change)}
        </text>
        <line x1={from} x2={RIGHT} y1={66} y2={66} className={classes.axis} />
        <line x1={x(0)} x2={x(0)} y1={10} y2={66} className={classes.zero} />
        <line x1={x(low)} x2={x(high)} y1={44} y2={44} className={classes.interval} />
        <circle cx={x(change)} cy={44} r="5" className={classes.point} />
        <text
          x={Math.min(Math.max(x(change), from + 24), RIGHT - 24)}
          y={32}
          textAnchor="middle"
          className={classes.tick}
        >
          {sign(change)}
        </text>
      </svg>
      <figcaption>
        {t("incidents.verify.intervalText", {
          share: formatPercent(result.confidence),
          bar: formatPercent(minimum_change),
        })}
      </figcaption>
    </figure>
  );
}
