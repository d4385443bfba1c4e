import { VerdictIcon, type VerdictState } from "../../components/VerdictIcon";
import type { SubjectMap } from "../../core/hosts/subject";
import { type FindingFigure, intervalOf, timesBeyond, wasCompared } from "../../core/text/figures";
import { number, quantity } from "../../core/text/format";
import { useNames } from "../../lib/text/useNames";
import { useTranslation } from "../../lib/text/useTranslation";
import { CitationLink, CitedSource } from "./CitationLink";
import classes from "./Findings.module.css";
import { Gauge } from "./Gauge";

const SIGNS: Record<string, string> = { ">=": "≥", "<=": "≤", "!=": "≠", "==": "=" };

/** Return the text of an interval, such as `12 – 15 ms`. A null bound is unknown. */
function bounds({ low, high }: { low: number | null; high: number | null }, unit: string): string {
  if (low === null) return `≤ ${quantity(high, unit)}`;
  if (high === null) return `≥ ${quantity(low, unit)}`;
  return `${quantity(low, unit)} – ${quantity(high, unit)}`;
}

interface Props {
  figures: readonly FindingFigure[];
  look: VerdictState;
  /** Accessible name of the list. */
  label: string;
  /** Common subject of all numbers; rows omit it. */
  within?: SubjectMap;
}

/** Render one row per number: measure, value, threshold and source. */
export function FindingNumbers({ figures, look, label, within = {} }: Props) {
  return (
    <ul className={classes.figures} aria-label={label}>
      {figures.map((figure, i) => (
        <Row key={i} figure={figure} look={look} within={within} />
      ))}
    </ul>
  );
}

function Row({ figure, look, within }: { figure: FindingFigure; look: VerdictState; within: SubjectMap }) {
  const { t } = useTranslation();
  const names = useNames();
  const { value, unit, baseline, places, subject, sample_count } = figure;
  const compared = wasCompared(figure) ? figure : undefined;
  const title = names.measure(figure.measure, figure.rule);
  const about = names.subject(subject, figure.called, within);
  const cited = places.filter((sourcePlace) => sourcePlace.profile || sourcePlace.artifact);
  const interval = intervalOf(figure);
  const times = compared && timesBeyond(value, compared.threshold, compared.op);
  return (
    <li className={classes.figure}>
      <VerdictIcon look={compared ? look : "context"} />
      <span className={classes.what}>
        <span title={figure.measure}>{title}</span>
        {about.map((item) => (
          <span key={item} className={classes.about}>
            {item}
          </span>
        ))}
      </span>
      <CitedSource place={places[0]} pid={subject.pid} label={title} className={classes.number}>
        {quantity(value, unit)}
      </CitedSource>
      {compared ? (
        <Gauge figure={compared} not_matched={look === "refutes"} />
      ) : (
        <span className={classes.noGauge} aria-hidden />
      )}
      <span className={classes.against}>
        {compared && (
          <span title={t("findings.threshold")}>
            {SIGNS[compared.op] ?? compared.op} {quantity(compared.threshold, unit)}
          </span>
        )}
        {interval && (
          <span className={classes.interval} title={t("findings.interval")}>
            {bounds(interval, unit)}
          </span>
        )}
        {times !== undefined && look !== "refutes" && times >= 1.1 && (
          <span className={classes.times}>{t("findings.times", { times: number(times) })}</span>
        )}
        {baseline !== null && (
          <span className={classes.was}>{t("findings.before", { value: quantity(baseline, unit) })}</span>
        )}
        {sample_count > 0 && (
          <span
            className={classes.sampleCount}
            title={t("findings.sampleCount", { n: number(sample_count) })}
          >
            n = {number(sample_count)}
          </span>
        )}
      </span>
      <span className={classes.where}>
        {cited.length === 0 && <span className={classes.sampleCount}>{t("findings.noSource")}</span>}
        {cited.slice(0, 2).map((place, i) => (
          <CitationLink key={i} place={place} pid={subject.pid} label={title} />
        ))}
      </span>
    </li>
  );
}
