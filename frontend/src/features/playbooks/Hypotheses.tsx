import { useTranslation } from "react-i18next";
import type { HypothesisStand, Playbook } from "../../client/types";
import { Link } from "../../components/Link";
import { type Look, Verdict } from "../../components/Verdict";
import { usePick } from "../../lib/i18n";
import { useNames } from "../../lib/useNames";
import { useNumberName } from "../../lib/useNumberName";
import classes from "./Playbooks.module.css";

const STANDINGS: Record<HypothesisStand["standing"], Look> = {
  open: "absent",
  supported: "supports",
  refuted: "refutes",
  contested: "inconclusive",
};

interface Props {
  playbook: Playbook;
  stands: readonly HypothesisStand[] | undefined;
}

/** What could be behind it; tried on a run, where each of them stands and which steps say so. */
export function Hypotheses({ playbook, stands }: Props) {
  const { t } = useTranslation();
  const pick = usePick();
  const names = useNames();
  const numberName = useNumberName();
  const numbers = (ids: readonly string[]) =>
    ids.map((id) => playbook.steps.findIndex((one) => one.id === id) + 1).join(", ");
  return (
    <ol className={classes.hypotheses}>
      {playbook.hypotheses.map((one, i) => {
        const stand = stands?.find((each) => each.hypothesis === one.id);
        return (
          <li key={one.id} className={classes.hypothesis} data-standing={stand?.standing}>
            <span className={classes.sign}>H{i + 1}</span>
            <div className={classes.hypothesisText}>
              <p className={classes.says}>{pick(one.says)}</p>
              <p className={classes.meta}>
                {one.cause && (
                  <span>
                    {t("playbooks.cause")}{" "}
                    <Link
                      to="/rules"
                      search={{ view: "causes", cause: one.cause } as never}
                      title={one.cause}
                    >
                      {names.cause(one.cause)}
                    </Link>
                  </span>
                )}
                {one.primary && (
                  <span title={one.primary.read}>
                    {t(`playbooks.primary.${one.primary.better}`, { name: numberName(one.primary.read) })}
                  </span>
                )}
              </p>
            </div>
            {stand && (
              <div className={classes.stand}>
                <span className={classes.standing}>
                  <Verdict look={STANDINGS[stand.standing]} /> {t(`playbooks.standing.${stand.standing}`)}
                </span>
                {stand.supports.length > 0 && (
                  <span>{t("playbooks.for", { numbers: numbers(stand.supports) })}</span>
                )}
                {stand.refutes.length > 0 && (
                  <span>{t("playbooks.against", { numbers: numbers(stand.refutes) })}</span>
                )}
              </div>
            )}
          </li>
        );
      })}
    </ol>
  );
}
