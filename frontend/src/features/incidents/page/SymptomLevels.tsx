import { formatNumber, formatPercent, formatQuantity, NO_VALUE } from "../../../core/text/format";
import { useTimeFormat } from "../../../lib/text/useFormat";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { Symptom, SymptomNumber } from "../api";
import classes from "./Incidents.module.css";

const KINDS = ["latency", "errors", "rate"] as const;
/** Units that are scaled with prefixes; other units are displayed as entered. */
const SCALED_UNITS = new Set(["ms", "s", "us", "ns", "%", "pct", "ratio", "bytes"]);

export const formatSymptomLevel = (value: number | null, unit: string): string =>
  value === null
    ? NO_VALUE
    : SCALED_UNITS.has(unit)
      ? formatQuantity(value, unit)
      : `${formatNumber(value)}${unit && `\u2009${unit}`}`;

function SymptomLevel({ level }: { level: SymptomNumber }) {
  const { before = null, after = null, unit } = level;
  const change = before !== null && after !== null && before !== 0 ? after / before - 1 : undefined;
  return (
    <span className="num">
      <span className="dim">{formatSymptomLevel(before, unit)} → </span>
      <strong>{formatSymptomLevel(after, unit)}</strong>
      {change !== undefined && Math.abs(change) >= 0.05 && (
        <span className="dim">
          {" "}
          ({change > 0 ? "+" : ""}
          {formatPercent(change)})
        </span>
      )}
    </span>
  );
}

/** Latency, errors and rate of a symptom, before and now. */
export function SymptomLevels({ symptom }: { symptom: Symptom }) {
  const { t } = useTranslation();
  return KINDS.map((kind) => {
    const level = symptom[kind];
    return (
      level && (
        <span key={kind} className={classes.level}>
          <span className="dim">{t(`incidents.symptom.${kind}`)}</span> <SymptomLevel level={level} />
        </span>
      )
    );
  });
}

/** Symptom at the top of the evidence chain: description, levels, service and start. */
export function SymptomFacts({ symptom }: { symptom: Symptom }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  return (
    <div className={classes.symptom}>
      {symptom.description && <p className={classes.summary}>{symptom.description}</p>}
      <p className={classes.levels}>
        <SymptomLevels symptom={symptom} />
        {symptom.service && (
          <span className={classes.level}>
            <span className="dim">{t("incidents.symptom.service")}</span> {symptom.service}
          </span>
        )}
        {symptom.since && (
          <span className={classes.level}>
            <span className="dim">{t("incidents.symptom.since")}</span>{" "}
            <span className="num">
              {time.iso(symptom.since)} {time.zoneName}
            </span>
          </span>
        )}
      </p>
    </div>
  );
}
