import type { StepAnswer } from "../../client/models";
import { Link } from "../../components/Link";
import { VERDICT_STATES } from "../../components/VerdictIcon";
import { toFigures } from "../../core/text/figures";
import { useNames } from "../../lib/text/useNames";
import { useTranslation } from "../../lib/text/useTranslation";
import { useUrlState } from "../../lib/urlState";
import { FindingNumbers } from "../../widgets/findings/FindingNumbers";
import classes from "./Chain.module.css";
import { FIELDS } from "./fields";

/** Maximum number of findings. A rule can match hundreds of processes; the most severe findings come first. */
const MAX_FINDINGS = 3;

/** Numbers behind an answer, each with its source; the page of the run lists the others. */
export function StepNumbers({ answer }: { answer: StepAnswer }) {
  const { t } = useTranslation();
  const names = useNames();
  const [{ run }] = useUrlState(FIELDS);
  const findings = answer.findings.slice(0, MAX_FINDINGS);
  const more = answer.findings.length - findings.length;
  const rule = answer.findings[0]?.rule ?? "";
  return (
    <div className={classes.numbers}>
      <FindingNumbers
        figures={findings.flatMap(toFigures)}
        verdict={VERDICT_STATES[answer.verdict]}
        label={t("playbooks.numbers", { rule: names.rule(rule) })}
      />
      {more > 0 && (
        <Link to="/runs/$runId" params={{ runId: run }}>
          {t("playbooks.more", { count: more })}
        </Link>
      )}
    </div>
  );
}
