import type { Finding } from "../../client/models";
import { Link } from "../../components/Link";
import { StatusIcon, type Tone } from "../../components/StatusIcon";
import { PlaybookText } from "../../components/text/PlaybookText";
import { VerdictIcon, type VerdictState } from "../../components/VerdictIcon";
import { cx } from "../../core/cx";
import { fillSummary, processNameOf, toFigures } from "../../core/text/figures";
import { useRules } from "../../lib/queries";
import { useLocalized, useMessage } from "../../lib/text/i18n";
import { useNames } from "../../lib/text/useNames";
import { useTranslation } from "../../lib/text/useTranslation";
import { SubjectTags } from "./CauseCard";
import { FindingNumbers } from "./FindingNumbers";
import classes from "./Findings.module.css";

const TONES: Record<Finding["severity"], Tone> = { critical: "bad", warn: "warn", info: "off" };

interface Props {
  finding: Finding;
  verdict: VerdictState;
}

/** Render a finding: message, numbers and caveats. */
export function FindingRow({ finding, verdict }: Props) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const formatMessage = useMessage();
  const names = useNames();
  const rule = useRules().data?.get(finding.rule);
  const matched = verdict === "supports";
  const summary = rule && finding.numbers.length > 0 ? fillSummary(localize(rule.summary), finding) : "";
  const isVisible = finding.state === "matched" || finding.state === "inconclusive";
  return (
    <article className={cx(classes.finding, classes[`look_${verdict}`])}>
      <header className={classes.findingHead}>
        {matched ? (
          <StatusIcon tone={TONES[finding.severity]}>{t(`findings.severity.${finding.severity}`)}</StatusIcon>
        ) : (
          <VerdictIcon verdict={verdict} label={t(`findings.verdict.${verdict}`)} />
        )}
        <Link
          to="/rules"
          search={{ rule: finding.rule }}
          className={cx(classes.ruleName, verdict === "refutes" && classes.refuted)}
          title={finding.rule}
        >
          {names.rule(finding.rule)}
        </Link>
        <span className={classes.tags}>
          <SubjectTags subject={finding.subject} processName={processNameOf(finding.detail)} />
        </span>
        <span className={classes.strength} title={t(`findings.strengthMeaning.${finding.strength}`)}>
          {t(`findings.strength.${finding.strength}`)}
        </span>
      </header>
      {isVisible && summary && <p className={classes.text}>{summary}</p>}
      {finding.reason && <p className={classes.reason}>{formatMessage(names.reason(finding.reason))}</p>}
      {finding.numbers.length > 0 && (
        <FindingNumbers
          figures={toFigures(finding)}
          verdict={verdict}
          label={names.rule(finding.rule)}
          outerSubject={finding.subject}
        />
      )}
      {matched && rule?.caveats && (
        <p className={classes.note}>
          <PlaybookText text={rule.caveats} />
        </p>
      )}
    </article>
  );
}
