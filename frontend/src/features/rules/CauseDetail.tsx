import { useTranslation } from "react-i18next";
import type { Cause } from "../../client/types";
import { Facts } from "../../components/Facts";
import { Panel } from "../../components/Page";
import { Verdict } from "../../components/Verdict";
import { usePick } from "../../lib/i18n";
import { useNames } from "../../lib/useNames";
import { Related } from "./RuleDetail";
import classes from "./Rules.module.css";

/** One cause: how it hurts, what mends it at what risk, and how far its name may be trusted. */
export function CauseDetail({ cause }: { cause: Cause }) {
  const { t } = useTranslation();
  const pick = usePick();
  const names = useNames();
  return (
    <Panel title={pick(cause.title)} aside={<span className="mono">{cause.id}</span>}>
      <p className={classes.says}>{pick(cause.what)}</p>
      <p className={classes.proven}>
        <Verdict look={cause.proven ? "supports" : "weak"} />{" "}
        {cause.proven ? t("rules.proven") : t("findings.unproven")}
      </p>
      <dl className={classes.mend}>
        {(["fix", "risk", "verify"] as const).map((part) => (
          <div key={part}>
            <dt>{t(`findings.${part}`)}</dt>
            <dd>{pick(cause[part])}</dd>
          </div>
        ))}
      </dl>
      {cause.tested_by.length > 0 && (
        <Facts items={[[t("rules.testedBy"), cause.tested_by.map(names.collector).join(", ")]]} />
      )}
      <Related title={t("rules.namedBy")} ids={cause.rules} kind="rule" />
      <Related title={t("rules.suspectedBy")} ids={cause.suspected_by} kind="rule" />
      <Related title={t("findings.explains")} ids={cause.explains} kind="cause" />
    </Panel>
  );
}
