import type { Finding } from "../../client/models";
import { Link } from "../../components/Link";
import { sortBySeverity, toFigures } from "../../core/text/figures";
import { formatQuantity } from "../../core/text/format";
import { useNames } from "../../lib/text/useNames";
import { useTranslation } from "../../lib/text/useTranslation";

const MAX_RULES = 2;

/** Render in a line what clients or the host suffer: the most severe findings of harm, each with its first number. */
export function HarmSummary({ harm }: { harm: readonly Finding[] }) {
  const { t } = useTranslation();
  const names = useNames();
  if (harm.length === 0) return <span className="dim">{t("findings.noHarm")}</span>;
  const worst = sortBySeverity(harm).filter(
    (finding, i, all) => all.findIndex((other) => other.rule === finding.rule) === i,
  );
  return (
    <>
      {worst.slice(0, MAX_RULES).map((finding, i) => {
        const [figure] = toFigures(finding);
        return (
          <span key={finding.rule}>
            {i > 0 && " · "}
            <Link to="/rules" search={{ rule: finding.rule }}>
              {names.rule(finding.rule)}
            </Link>
            {figure && figure.unit !== "bool" && (
              <>
                {" "}
                <span className="num">{formatQuantity(figure.value, figure.unit)}</span>
              </>
            )}
          </span>
        );
      })}
      {worst.length > MAX_RULES && (
        <span className="dim"> {t("findings.moreHarm", { count: worst.length - MAX_RULES })}</span>
      )}
    </>
  );
}
