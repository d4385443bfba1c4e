import { useTranslation } from "react-i18next";
import type { StepAnswer } from "../../client/types";
import { Link } from "../../components/Link";
import { LOOKS } from "../../components/Verdict";
import { figuresOf } from "../../core/figures";
import { useUrlState } from "../../lib/urlState";
import { useNames } from "../../lib/useNames";
import { Figures } from "../../renderers/findings/Figures";
import classes from "./Chain.module.css";
import { FIELDS } from "./fields";

/** A rule may speak of hundreds of processes; the first of them are the gravest. */
const SHOWN = 3;

/** The numbers that an answer rests on, each at its line; the rest stands on the page of the run. */
export function Found({ answer }: { answer: StepAnswer }) {
  const { t } = useTranslation();
  const names = useNames();
  const [{ run }] = useUrlState(FIELDS);
  const shown = answer.findings.slice(0, SHOWN);
  const more = answer.findings.length - shown.length;
  const rule = answer.findings[0]?.rule ?? "";
  return (
    <div className={classes.found}>
      <Figures
        figures={shown.flatMap(figuresOf)}
        look={LOOKS[answer.verdict]}
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
