import { useTranslation } from "react-i18next";
import type { IncidentStep } from "../../client/incidents";
import { Link } from "../../components/Link";
import { Prose } from "../../components/Prose";
import { LOOKS, Verdict } from "../../components/Verdict";
import { usePlaybook } from "../../lib/queries";
import { useNames } from "../../lib/useNames";
import classes from "./Evidence.module.css";

/** What it means when the rule of a step fires, and when it stays quiet; and what to beware of. */
export function Meaning({ step }: { step: IncidentStep }) {
  const { t } = useTranslation();
  const names = useNames();
  const own = usePlaybook(step.playbook).data?.steps.find((one) => one.id === step.step);
  if (!own) return null;
  return (
    <>
      {own.finding && (
        <p className={classes.meaning}>
          <span>
            {t("playbooks.rule")}{" "}
            <Link to="/rules" search={{ rule: own.finding } as never} title={own.finding}>
              {names.rule(own.finding)}
            </Link>
          </span>
          <span>
            {t("playbooks.fired")} <Verdict look={LOOKS[own.fired]} /> {t(`playbooks.verdict.${own.fired}`)}
          </span>
          <span>
            {t("playbooks.quiet")} <Verdict look={LOOKS[own.quiet]} /> {t(`playbooks.verdict.${own.quiet}`)}
          </span>
          <Link to="/playbooks" search={{ playbook: step.playbook } as never} hash={`step-${step.step}`}>
            {t("incidents.step.playbook")}
          </Link>
        </p>
      )}
      {own.beware && (
        <p className={classes.meaning}>
          <span>
            <strong>{t("playbooks.beware")}</strong> <Prose text={own.beware} />
          </span>
        </p>
      )}
    </>
  );
}
