import { Link } from "../../../components/Link";
import { PlaybookText } from "../../../components/text/PlaybookText";
import { VERDICT_STATES, VerdictIcon } from "../../../components/VerdictIcon";
import { usePlaybook } from "../../../lib/queries";
import { useNames } from "../../../lib/text/useNames";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { IncidentStep } from "../api";
import classes from "./Evidence.module.css";

/** Verdicts of a step if its rule matches or does not match, and the caveat of the step. */
export function RuleExplanation({ step }: { step: IncidentStep }) {
  const { t } = useTranslation();
  const names = useNames();
  const own = usePlaybook(step.playbook).data?.steps.find((item) => item.id === step.step);
  if (!own) return null;
  return (
    <>
      {own.finding && (
        <p className={classes.meaning}>
          <span>
            {t("playbooks.rule")}{" "}
            <Link to="/rules" search={{ rule: own.finding }} title={own.finding}>
              {names.rule(own.finding)}
            </Link>
          </span>
          <span>
            {t("playbooks.matched")} <VerdictIcon verdict={VERDICT_STATES[own.matched]} />{" "}
            {t(`playbooks.verdict.${own.matched}`)}
          </span>
          <span>
            {t("playbooks.not_matched")} <VerdictIcon verdict={VERDICT_STATES[own.not_matched]} />{" "}
            {t(`playbooks.verdict.${own.not_matched}`)}
          </span>
          <Link to="/playbooks" search={{ playbook: step.playbook }} hash={`step-${step.step}`}>
            {t("incidents.step.playbook")}
          </Link>
        </p>
      )}
      {own.caveat && (
        <p className={classes.meaning}>
          <span>
            <strong>{t("playbooks.caveat")}</strong> <PlaybookText text={own.caveat} />
          </span>
        </p>
      )}
    </>
  );
}
