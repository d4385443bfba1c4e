import { VerdictIcon, type VerdictState } from "../../components/VerdictIcon";
import type { SubjectMap } from "../../core/hosts/subject";
import {
  confidenceInterval,
  exceedanceRatio,
  type FindingFigure,
  hasThreshold,
} from "../../core/text/figures";
import { formatNumber, formatQuantity } from "../../core/text/format";
import { useNames } from "../../lib/text/useNames";
import { useTranslation } from "../../lib/text/useTranslation";
import { CitationLink, CitedSource } from "./CitationLink";
import classes from "./Findings.module.css";
import { Gauge } from "./Gauge";

const SIGNS: Record<string, string> = { ">=": "≥", "<=": "≤", "!=": "≠", "==": "=" };

/** Return the text of an interval, such as `12 – 15 ms`. A null bound is unknown. */
function formatInterval({ low, high }: { low: number | null; high: number | null }, unit: string): string {
  if (low === null) return `≤ ${formatQuantity(high, unit)}`;
  if (high === null) return `≥ ${formatQuantity(low, unit)}`;
  return `${formatQuantity(low, unit)} – ${formatQuantity(high, unit)}`;
}

interface Props {
  figures: readonly FindingFigure[];
  verdict: VerdictState;
  /** Accessible name of the list. */
  label: string;
  /** Common subject of all numbers; rows omit it. */
  outerSubject?: SubjectMap;
}

/** Render one row per number: measure, value, threshold and source. */
export function FindingNumbers({ figures, verdict, label, outerSubject = {} }: Props) {
  return (
    <ul className={classes.figures} aria-label={label}>
      {figures.map((figure, i) => (
        <Row key={i} figure={figure} look={verdict} within={outerSubject} />
      ))}
    </ul>
  );
}

function Row({ figure, look, within }: { figure: FindingFigure; look: VerdictState; within: SubjectMap }) {
  const { t } = useTranslation();
  const names = useNames();
  const { value, unit, baseline, places, subject, sample_count } = figure;
  const compared = hasThreshold(figure) ? figure : undefined;
  const title = names.measure(figure.measure, figure.rule);
  const about = names.subject(subject, figure.processName, within);
  const cited = places.filter((sourcePlace) => sourcePlace.profile || sourcePlace.artifact);
  const interval = confidenceInterval(figure);
  const times = compared && exceedanceRatio(value, compared.threshold, compared.op);
  return (
    <li className={classes.figure}>
      <VerdictIcon verdict={compared ? look : "context"} />
      <span className={classes.measureName}>
        <span title={figure.measure}>{title}</span>
        {about.map((item) => (
          <span key={item} className={classes.about}>
            {item}
          </span>
        ))}
      </span>
      <CitedSource place={places[0]} pid={subject.pid} label={title} className={classes.number}>
        {formatQuantity(value, unit)}
      </CitedSource>
      {compared ? (
        <Gauge figure={compared} not_matched={look === "refutes"} />
      ) : (
        <span className={classes.noGauge} aria-hidden />
      )}
      <span className={classes.threshold}>
        {compared && (
          <span title={t("findings.threshold")}>
            {SIGNS[compared.op] ?? compared.op} {formatQuantity(compared.threshold, unit)}
          </span>
        )}
        {interval && (
          <span className={classes.interval} title={t("findings.interval")}>
            {formatInterval(interval, unit)}
          </span>
        )}
        {times !== undefined && look !== "refutes" && times >= 1.1 && (
          <span className={classes.times}>{t("findings.times", { times: formatNumber(times) })}</span>
        )}
        {baseline !== null && (
          <span className={classes.baseline}>
            {t("findings.before", { value: formatQuantity(baseline, unit) })}
          </span>
        )}
        {sample_count > 0 && (
          <span
            className={classes.sampleCount}
            title={t("findings.sampleCount", { n: formatNumber(sample_count) })}
          >
            n = {formatNumber(sample_count)}
          </span>
        )}
      </span>
      <span className={classes.sources}>
        {cited.length === 0 && <span className={classes.sampleCount}>{t("findings.noSource")}</span>}
        {cited.slice(0, 2).map((place, i) => (
          <CitationLink key={i} place={place} pid={subject.pid} label={title} />
        ))}
      </span>
    </li>
  );
}
