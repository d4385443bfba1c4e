import type { Finding } from "../../client/models";
import { Link } from "../../components/Link";
import { StatusIcon, type Tone } from "../../components/StatusIcon";
import { VerdictIcon, type VerdictState } from "../../components/VerdictIcon";
import { cx } from "../../core/cx";
import { calledIn, describeMeasure, toFigures } from "../../core/text/figures";
import { useRules } from "../../lib/queries";
import { useLocalized, useMessage } from "../../lib/text/i18n";
import { useNames } from "../../lib/text/useNames";
import { useTranslation } from "../../lib/text/useTranslation";
import { Subjects } from "./CauseCard";
import { FindingNumbers } from "./FindingNumbers";
import classes from "./Findings.module.css";

const TONES: Record<Finding["severity"], Tone> = { critical: "bad", warn: "warn", info: "off" };

interface Props {
  finding: Finding;
  look: VerdictState;
}

/** Render a finding: message, numbers and caveats. */
export function FindingRow({ finding, look }: Props) {
  const { t } = useTranslation();
  const pick = useLocalized();
  const sentence = useMessage();
  const names = useNames();
  const rule = useRules().data?.get(finding.rule);
  const matched = look === "supports";
  const summary = rule && finding.numbers.length > 0 ? describeMeasure(pick(rule.summary), finding) : "";
  const isVisible = finding.state === "matched" || finding.state === "inconclusive";
  return (
    <article className={cx(classes.finding, classes[`look_${look}`])}>
      <header className={classes.findingHead}>
        {matched ? (
          <StatusIcon tone={TONES[finding.severity]}>{t(`findings.severity.${finding.severity}`)}</StatusIcon>
        ) : (
          <VerdictIcon look={look} label={t(`findings.verdict.${look}`)} />
        )}
        <Link
          to="/rules"
          search={{ rule: finding.rule }}
          className={cx(classes.ruleName, look === "refutes" && classes.struck)}
          title={finding.rule}
        >
          {names.rule(finding.rule)}
        </Link>
        <span className={classes.tags}>
          <Subjects of={finding.subject} called={calledIn(finding.detail)} />
        </span>
        <span className={classes.strength} title={t(`findings.strengthMeaning.${finding.strength}`)}>
          {t(`findings.strength.${finding.strength}`)}
        </span>
      </header>
      {isVisible && summary && <p className={classes.text}>{summary}</p>}
      {finding.reason && <p className={classes.reason}>{sentence(names.reason(finding.reason))}</p>}
      {finding.numbers.length > 0 && (
        <FindingNumbers
          figures={toFigures(finding)}
          look={look}
          label={names.rule(finding.rule)}
          within={finding.subject}
        />
      )}
      {matched && rule?.caveats && <p className={classes.note}>{pick(rule.caveats)}</p>}
    </article>
  );
}
