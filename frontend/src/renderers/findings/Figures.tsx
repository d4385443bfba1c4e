import { useTranslation } from "react-i18next";
import { type Look, Verdict } from "../../components/Verdict";
import { type Figure, subjectText, timesBeyond } from "../../core/figures";
import { number, quantity } from "../../core/format";
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
  /** The name of the rule stands over its numbers already. */
  bare?: boolean;
}

/** Numbers, one a row: what was measured, how much, against what, and the line that it was read from. */
export function Figures({ figures, look, label, bare = false }: Props) {
  return (
    <ul className={classes.figures} aria-label={label}>
      {figures.map((one, i) => (
        <Row key={i} figure={one} look={look} bare={bare} />
      ))}
    </ul>
  );
}

function Row({ figure, look, bare }: { figure: Figure; look: Look; bare: boolean }) {
  const { t } = useTranslation();
  const names = useNames();
  const { value, unit, op, threshold, baseline, places, subject, n } = figure;
  const title = names.measure(figure.measure, figure.rule);
  const about = bare ? "" : subjectText(subject);
  const times = timesBeyond(value, threshold, op);
  return (
    <li className={classes.figure}>
      <Verdict look={look} />
      <span className={classes.what}>
        <span title={figure.measure}>{title}</span>
        {about && <span className={classes.about}>{about}</span>}
      </span>
      <Cited place={places[0]} label={`${title} ${quantity(value, unit)}`} className={classes.number}>
        {quantity(value, unit)}
      </Cited>
      <Gauge figure={figure} quiet={look === "refutes"} />
      <span className={classes.against}>
        <span title={t("findings.threshold")}>
          {SIGNS[op] ?? op} {quantity(threshold, unit)}
        </span>
        {times !== undefined && look !== "refutes" && times >= 1.1 && (
          <span className={classes.times}>{t("findings.times", { times: number(times) })}</span>
        )}
        {baseline !== null && (
          <span className={classes.was}>{t("findings.before", { value: quantity(baseline, unit) })}</span>
        )}
        {n > 0 && <span className={classes.n}>n {number(n)}</span>}
      </span>
      <span className={classes.where}>
        {places.slice(0, 2).map((place, i) => (
          <PlaceLink key={i} place={place} label={title} />
        ))}
      </span>
    </li>
  );
}
