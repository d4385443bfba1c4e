import type { Playbook } from "../../client/models";
import { Link } from "../../components/Link";
import { VerdictIcon, type VerdictState } from "../../components/VerdictIcon";
import { useLocalized } from "../../lib/text/i18n";
import { useNames } from "../../lib/text/useNames";
import { useNumberName } from "../../lib/text/useNumberName";
import { useTranslation } from "../../lib/text/useTranslation";
import type { HypothesisState } from "./api";
import classes from "./Playbooks.module.css";

const STATES: Record<HypothesisState["status"], VerdictState> = {
  open: "absent",
  supported: "supports",
  refuted: "refutes",
  contested: "inconclusive",
};

interface Props {
  playbook: Playbook;
  states: readonly HypothesisState[] | undefined;
}

/** Hypotheses of a playbook; after a dry run with their status and the steps that determine it. */
export function Hypotheses({ playbook, states }: Props) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const names = useNames();
  const numberName = useNumberName();
  const numbers = (ids: readonly string[]) =>
    ids.map((id) => playbook.steps.findIndex((step) => step.id === id) + 1).join(", ");
  return (
    <ol className={classes.hypotheses}>
      {playbook.hypotheses.map((hypothesis, i) => {
        const state = states?.find((each) => each.hypothesis === hypothesis.id);
        return (
          <li key={hypothesis.id} className={classes.hypothesis} data-status={state?.status}>
            <span className={classes.label}>H{i + 1}</span>
            <div className={classes.hypothesisText}>
              <p className={classes.summary}>{localize(hypothesis.summary)}</p>
              <p className={classes.meta}>
                {hypothesis.cause && (
                  <span>
                    {t("playbooks.cause")}{" "}
                    <Link
                      to="/rules"
                      search={{ view: "causes", cause: hypothesis.cause }}
                      title={hypothesis.cause}
                    >
                      {names.cause(hypothesis.cause)}
                    </Link>
                  </span>
                )}
                {hypothesis.primary && (
                  <span title={hypothesis.primary.read}>
                    {t(`playbooks.primary.${hypothesis.primary.better}`, {
                      name: numberName(hypothesis.primary.read),
                    })}
                  </span>
                )}
              </p>
            </div>
            {state && (
              <div className={classes.state}>
                <span className={classes.status}>
                  <VerdictIcon verdict={STATES[state.status]} /> {t(`playbooks.status.${state.status}`)}
                </span>
                {state.supports.length > 0 && (
                  <span>{t("playbooks.for", { numbers: numbers(state.supports) })}</span>
                )}
                {state.refutes.length > 0 && (
                  <span>{t("playbooks.against", { numbers: numbers(state.refutes) })}</span>
                )}
              </div>
            )}
          </li>
        );
      })}
    </ol>
  );
}
