import { Collapsible } from "../../../components/Collapsible";
import { DataTable } from "../../../components/tables/DataTable";
import { VerdictIcon } from "../../../components/VerdictIcon";
import { formatPercent } from "../../../core/text/format";
import { useTranslation } from "../../../lib/text/useTranslation";
import { ComparisonPreview } from "../../../widgets/flame-graph/ComparisonPreview";
import { MergedNames } from "../../../widgets/flame-graph/MergedNames";
import type { VerificationResult } from "../api";
import classes from "../fixes/Fixes.module.css";

const MAX_ROWS = 30;
/** Minimum number of hosts for an interval. */
const MIN_HOSTS = 3;

const signedPercent = (share: number): string => `${share > 0 ? "+" : ""}${formatPercent(share)}`;

/** CPU time by function before and after the fix: a differential flame graph and a table. */
export function CodeChanges({ id, result }: { id: string; result: VerificationResult }) {
  const { t } = useTranslation();
  const differential = result.differential;
  if (!differential) return <p className={classes.noCode}>{t("incidents.verify.noProfiles")}</p>;
  const hasInterval = differential.hosts.length >= MIN_HOSTS;
  return (
    <>
      {differential.comparison_id && <ComparisonPreview id={differential.comparison_id} />}
      {differential.functions.length > 0 && (
        <Collapsible
          id={`functions-${id}`}
          title={t("incidents.verify.functions")}
          count={Math.min(MAX_ROWS, differential.functions.length)}
          hint={
            hasInterval
              ? t("incidents.verify.functionsOver", { count: differential.hosts.length })
              : undefined
          }
        >
          <DataTable label={t("incidents.verify.functions")} maxHeight={360}>
            <thead>
              <tr>
                <th>{t("incidents.verify.function")}</th>
                <th className="right">{t("incidents.verify.side.before")}</th>
                <th className="right">{t("incidents.verify.side.after")}</th>
                <th className="right">{t("incidents.verify.change")}</th>
                {hasInterval && <th>{t("incidents.verify.excludesZero")}</th>}
              </tr>
            </thead>
            <tbody>
              {differential.functions.slice(0, MAX_ROWS).map((functionChange) => (
                <tr key={functionChange.name}>
                  <td className="mono">{functionChange.name}</td>
                  <td className="num right">{formatPercent(functionChange.before)}</td>
                  <td className="num right">{formatPercent(functionChange.after)}</td>
                  <td className="num right">
                    {signedPercent(functionChange.change)}
                    {hasInterval &&
                      ` [${signedPercent(functionChange.low)}, ${signedPercent(functionChange.high)}]`}
                  </td>
                  {hasInterval && (
                    <td>
                      {functionChange.sure && (
                        <VerdictIcon verdict="supports" label={t("incidents.verify.excludesZero")} />
                      )}
                    </td>
                  )}
                </tr>
              ))}
            </tbody>
          </DataTable>
        </Collapsible>
      )}
      {!differential.comparison_id && <MergedNames id={`merged-${id}`} merged={differential.mapping} />}
    </>
  );
}
