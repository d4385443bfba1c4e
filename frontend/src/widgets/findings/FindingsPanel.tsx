import { useTranslation } from "react-i18next";
import type { RunFindings } from "../../client/types";
import { Link } from "../../components/Link";
import { Verdict } from "../../components/Verdict";
import { milliseconds } from "../../core/format";
import { Answer } from "./Answer";
import classes from "./Findings.module.css";

interface Props {
  found: RunFindings;
  hostId: string | undefined;
  tried?: readonly string[];
  compact?: boolean;
}

/** How much was looked at, in one line. */
export function Looked({ found }: { found: RunFindings }) {
  const { t } = useTranslation();
  const { findings, quiet, not_evaluated, ranking } = found;
  const rules = new Set(
    [...findings, ...quiet, ...not_evaluated, ...ranking.inconclusive].map((one) => one.rule),
  );
  return (
    <>
      <span>{t("findings.looked", { count: rules.size })}</span>
      {found.elapsed_ms !== null && <span className="num">{milliseconds(found.elapsed_ms)}</span>}
      <Link to="/rules">{t("nav.rules")}</Link>
    </>
  );
}

/** No cause is an answer too: what was ruled out and what was not seen stands beneath it. */
export function NoCause({ children }: { children?: React.ReactNode }) {
  const { t } = useTranslation();
  return (
    <p className={classes.noneText}>
      <Verdict look="refutes" />
      <strong>{t("findings.noCause")}</strong>
      <span className="dim">{children ?? t("findings.noCauseText")}</span>
    </p>
  );
}

/** Everything that rules said about one run. */
export function FindingsBody({ found, hostId, tried = [], compact = false }: Props) {
  return (
    <Answer
      ranking={found.ranking}
      findings={found.findings}
      quiet={found.quiet}
      tried={tried}
      hostId={hostId}
      none={<NoCause />}
      compact={compact}
    />
  );
}
