import type { RunFindings } from "../../client/models";
import { Link } from "../../components/Link";
import { VerdictIcon } from "../../components/VerdictIcon";
import { formatMilliseconds } from "../../core/text/format";
import { useTranslation } from "../../lib/text/useTranslation";
import { DiagnosisResult } from "./DiagnosisResult";
import classes from "./Findings.module.css";

interface Props {
  runFindings: RunFindings;
  hostId: string | undefined;
  triedCollectors?: readonly string[];
  compact?: boolean;
}

/** Render how many rules were evaluated, and in which time. */
export function EvaluationSummary({ runFindings }: { runFindings: RunFindings }) {
  const { t } = useTranslation();
  const { findings, not_matched, not_evaluated, ranking } = runFindings;
  const rules = new Set(
    [...findings, ...not_matched, ...not_evaluated, ...ranking.inconclusive].map((finding) => finding.rule),
  );
  return (
    <>
      <span>{t("findings.ruleCount", { count: rules.size })}</span>
      {runFindings.elapsed_ms !== null && (
        <span className="num">{formatMilliseconds(runFindings.elapsed_ms)}</span>
      )}
      <Link to="/rules">{t("nav.rules")}</Link>
    </>
  );
}

/** Render the note of a diagnosis without causes. */
export function NoCauseNote({ children }: { children?: React.ReactNode }) {
  const { t } = useTranslation();
  return (
    <p className={classes.noneText}>
      <VerdictIcon verdict="refutes" />
      <strong>{t("findings.noCause")}</strong>
      <span className="dim">{children ?? t("findings.noCauseText")}</span>
    </p>
  );
}

/** Render all findings of a run. */
export function FindingsBody({ runFindings, hostId, triedCollectors = [], compact = false }: Props) {
  return (
    <DiagnosisResult
      ranking={runFindings.ranking}
      findings={runFindings.findings}
      not_matched={runFindings.not_matched}
      triedCollectors={triedCollectors}
      hostId={hostId}
      none={<NoCauseNote />}
      compact={compact}
    />
  );
}
