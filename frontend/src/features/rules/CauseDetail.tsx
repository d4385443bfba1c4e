import type { Cause } from "../../client/models";
import { Panel } from "../../components/Page";
import { FactList } from "../../components/tables/FactList";
import { VerdictIcon } from "../../components/VerdictIcon";
import { useLocalized } from "../../lib/text/i18n";
import { useNames } from "../../lib/text/useNames";
import { useTranslation } from "../../lib/text/useTranslation";
import { RelatedCauses } from "./RuleDetail";
import classes from "./Rules.module.css";

/** Details of a cause: effect, whether it is proven, fix, risk, verification, and related rules and causes. */
export function CauseDetail({ cause }: { cause: Cause }) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const names = useNames();
  return (
    <Panel title={localize(cause.title)} headerExtra={<span className="mono">{cause.id}</span>}>
      <p className={classes.summary}>{localize(cause.what)}</p>
      <p className={classes.proven}>
        <VerdictIcon verdict={cause.proven ? "supports" : "weak"} />{" "}
        {cause.proven ? t("rules.proven") : t("findings.unproven")}
      </p>
      <dl className={classes.fix}>
        {(["fix", "risk", "verify"] as const).map((part) => (
          <div key={part}>
            <dt>{t(`findings.${part}`)}</dt>
            <dd>{localize(cause[part])}</dd>
          </div>
        ))}
      </dl>
      {cause.tested_by.length > 0 && (
        <FactList items={[[t("rules.testedBy"), cause.tested_by.map(names.collector).join(", ")]]} />
      )}
      <RelatedCauses title={t("rules.namedBy")} ids={cause.rules} kind="rule" />
      <RelatedCauses title={t("rules.suspectedBy")} ids={cause.suspected_by} kind="rule" />
      <RelatedCauses title={t("findings.explains")} ids={cause.explains} kind="cause" />
    </Panel>
  );
}
