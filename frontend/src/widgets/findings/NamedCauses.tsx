import { VerdictIcon } from "../../components/VerdictIcon";
import { useNames } from "../../lib/text/useNames";
import { useTranslation } from "../../lib/text/useTranslation";
import classes from "./Findings.module.css";

const MOST = 3;

interface Props {
  named: readonly { cause: string; confidence: "likely" | "possible" }[];
}

/** Render the first causes of `named`, each with its confidence. */
export function NamedCauses({ named }: Props) {
  const { t } = useTranslation();
  const names = useNames();
  if (named.length === 0) return <span className="dim">{t("findings.noCause")}</span>;
  return (
    <span className={classes.namedCauses}>
      {named.slice(0, MOST).map(({ cause, confidence }) => (
        <span key={cause} className={classes.namedCause}>
          <VerdictIcon
            verdict={confidence === "possible" ? "weak" : "supports"}
            label={t(`findings.confidence.${confidence}`)}
          />
          {names.cause(cause)}
        </span>
      ))}
    </span>
  );
}
