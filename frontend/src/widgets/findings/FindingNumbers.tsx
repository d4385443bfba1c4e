import { useTranslation } from "react-i18next";
import { type Look, Verdict } from "../../components/Verdict";
import { type Figure, timesBeyond, wasCompared } from "../../core/figures";
import { number, quantity } from "../../core/format";
import type { SubjectMap } from "../../core/subject";
import { useNames } from "../../lib/useNames";
import classes from "./Findings.module.css";
import { Gauge } from "./Gauge";
import { Cited, PlaceLink } from "./Place";

const SIGNS: Record<string, string> = { ">=": "≥", "<=": "≤", "!=": "≠", "==": "=" };

interface Props {
  figures: readonly Figure[];
  look: Look;
  /** What they say together, for those who do not see where they stand. */
  label: string;
  /** What they are about in common: it stands over them already. */
  within?: SubjectMap;
}

/** Numbers, one a row: what was measured, how much, against what, and the line that it was read from. */
export function Figures({ figures, look, label, within = {} }: Props) {
  return (
    <ul className={classes.figures} aria-label={label}>
      {figures.map((one, i) => (
        <Row key={i} figure={one} look={look} within={within} />
      ))}
    </ul>
  );
}

function Row({ figure, look, within }: { figure: Figure; look: Look; within: SubjectMap }) {
  const { t } = useTranslation();
  const names = useNames();
  const { value, unit, baseline, places, subject, n } = figure;
  const compared = wasCompared(figure) ? figure : undefined;
  const title = names.measure(figure.measure, figure.rule);
  const about = names.subject(subject, figure.called, within);
  const cited = places.filter((one) => one.profile || one.artifact);
  const times = compared && timesBeyond(value, compared.threshold, compared.op);
  return (
    <li className={classes.figure}>
      <Verdict look={compared ? look : "context"} />
      <span className={classes.what}>
        <span title={figure.measure}>{title}</span>
        {about.map((one) => (
          <span key={one} className={classes.about}>
            {one}
          </span>
        ))}
      </span>
      <Cited
        place={places[0]}
        pid={subject.pid}
        label={`${title} ${quantity(value, unit)}`}
        className={classes.number}
      >
        {quantity(value, unit)}
      </Cited>
      {compared ? (
        <Gauge figure={compared} quiet={look === "refutes"} />
      ) : (
        <span className={classes.noGauge} aria-hidden />
      )}
      <span className={classes.against}>
        {compared && (
          <span title={t("findings.threshold")}>
            {SIGNS[compared.op] ?? compared.op} {quantity(compared.threshold, unit)}
          </span>
        )}
        {times !== undefined && look !== "refutes" && times >= 1.1 && (
          <span className={classes.times}>{t("findings.times", { times: number(times) })}</span>
        )}
        {baseline !== null && (
          <span className={classes.was}>{t("findings.before", { value: quantity(baseline, unit) })}</span>
        )}
        {n > 0 && (
          <span className={classes.n} title={t("findings.observed", { n: number(n) })}>
            n = {number(n)}
          </span>
        )}
      </span>
      <span className={classes.where}>
        {cited.length === 0 && <span className={classes.n}>{t("findings.noLine")}</span>}
        {cited.slice(0, 2).map((place, i) => (
          <PlaceLink key={i} place={place} pid={subject.pid} label={title} />
        ))}
      </span>
    </li>
  );
}
