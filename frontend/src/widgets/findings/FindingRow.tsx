import { useTranslation } from "react-i18next";
import type { Finding } from "../../client/types";
import { Link } from "../../components/Link";
import { Mark, type Tone } from "../../components/Mark";
import { type Look, Verdict } from "../../components/Verdict";
import { cx } from "../../core/cx";
import { calledIn, figuresOf, saying } from "../../core/figures";
import { usePick, useSentence } from "../../lib/i18n";
import { useRules } from "../../lib/queries";
import { useNames } from "../../lib/useNames";
import { Subjects } from "./CauseCard";
import { Figures } from "./Figures";
import classes from "./Findings.module.css";

const TONES: Record<Finding["severity"], Tone> = { critical: "bad", warn: "warn", info: "off" };

interface Props {
  finding: Finding;
  look: Look;
}

/** What one rule said about one thing: its sentence, its numbers, and why not to build on it where that is so. */
export function FindingRow({ finding, look }: Props) {
  const { t } = useTranslation();
  const pick = usePick();
  const sentence = useSentence();
  const names = useNames();
  const rule = useRules().data?.get(finding.rule);
  const fired = look === "supports";
  const says = rule && finding.numbers.length > 0 ? saying(pick(rule.says), finding) : "";
  const told = finding.state === "fired" || finding.state === "inconclusive";
  return (
    <article className={cx(classes.finding, classes[`look_${look}`])}>
      <header className={classes.findingHead}>
        {fired ? (
          <Mark tone={TONES[finding.severity]}>{t(`findings.severity.${finding.severity}`)}</Mark>
        ) : (
          <Verdict look={look} label={t(`findings.look.${look}`)} />
        )}
        <Link
          to="/rules"
          search={{ rule: finding.rule } as never}
          className={cx(classes.ruleName, look === "refutes" && classes.struck)}
          title={finding.rule}
        >
          {names.rule(finding.rule)}
        </Link>
        <span className={classes.tags}>
          <Subjects of={finding.subject} called={calledIn(finding.detail)} />
        </span>
        <span className={classes.grade} title={t(`findings.gradeMeaning.${finding.grade}`)}>
          {t(`findings.grade.${finding.grade}`)}
        </span>
      </header>
      {told && says && <p className={classes.text}>{says}</p>}
      {finding.reason && <p className={classes.reason}>{sentence(names.reason(finding.reason))}</p>}
      {finding.numbers.length > 0 && (
        <Figures
          figures={figuresOf(finding)}
          look={look}
          label={names.rule(finding.rule)}
          within={finding.subject}
        />
      )}
      {fired && rule?.traps && <p className={classes.note}>{pick(rule.traps)}</p>}
    </article>
  );
}
