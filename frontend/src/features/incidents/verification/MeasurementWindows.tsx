import { Collapsible } from "../../../components/Collapsible";
import { Link } from "../../../components/Link";
import { DataTable } from "../../../components/tables/DataTable";
import { formatPercent, formatQuantity, NO_VALUE } from "../../../core/text/format";
import { useMessage } from "../../../lib/text/i18n";
import { useNames } from "../../../lib/text/useNames";
import { useNumberName } from "../../../lib/text/useNumberName";
import { useTranslation } from "../../../lib/text/useTranslation";
import { CitationLink } from "../../../widgets/findings/CitationLink";
import type { VerificationResult, VerificationWindow } from "../api";

/** Return the first run before the fix on the same host, as the baseline of a run after it. */
const findBaselineRun = (
  { windows }: VerificationResult,
  { side, host }: VerificationWindow,
): string | undefined =>
  side.endsWith("after")
    ? windows.find((window) => window.host === host && window.side === side.replace("after", "before"))?.run
    : undefined;

/** Table of measurement windows with links to their runs and source lines; for a cohort also a table of hosts. */
export function MeasurementWindows({ id, result }: { id: string; result: VerificationResult }) {
  const { t } = useTranslation();
  const formatMessage = useMessage();
  const names = useNames();
  const numberName = useNumberName();
  const { unit, read } = result.primary;
  return (
    <>
      {result.hosts && result.hosts.length > 0 && (
        <Collapsible id={`hosts-${id}`} title={t("incidents.hosts.title")} count={result.hosts.length}>
          <DataTable stack label={t("incidents.hosts.title")}>
            <thead>
              <tr>
                <th>{t("diagnose.host")}</th>
                <th className="right">{t("incidents.verify.change")}</th>
                <th>{t("incidents.verify.note")}</th>
              </tr>
            </thead>
            <tbody>
              {result.hosts.map((host) => (
                <tr key={host.host}>
                  <td className="mono">{host.host}</td>
                  <td className="num right">
                    {host.change === null ? NO_VALUE : formatPercent(host.change)}
                  </td>
                  <td>
                    {host.left_out
                      ? formatMessage(host.left_out)
                      : host.outlier
                        ? t("incidents.verify.outlier")
                        : ""}
                  </td>
                </tr>
              ))}
            </tbody>
          </DataTable>
        </Collapsible>
      )}
      <Collapsible id={`windows-${id}`} title={t("incidents.verify.windows")} count={result.windows.length}>
        <DataTable stack label={t("incidents.verify.windows")}>
          <thead>
            <tr>
              <th>{t("incidents.verify.sideOf")}</th>
              <th>{t("diagnose.host")}</th>
              <th className="right">{numberName(read)}</th>
              <th className="right">n</th>
              <th className="right">{t("incidents.symptom.rate")}</th>
              <th>{t("incidents.verify.source")}</th>
            </tr>
          </thead>
          <tbody>
            {result.windows.map((window) => (
              <tr key={`${window.side}${window.run}`}>
                <td>{t(`incidents.verify.side.${window.side}`)}</td>
                <td className="mono">
                  <Link
                    to="/runs/$runId"
                    params={{ runId: window.run }}
                    search={{ before: findBaselineRun(result, window) }}
                  >
                    {window.host}
                  </Link>
                </td>
                <td className="num right">{formatQuantity(window.mean, unit)}</td>
                <td className="num right">{window.values.filter((value) => value !== null).length}</td>
                <td className="num right">{formatQuantity(window.load, result.load.unit)}</td>
                <td>
                  {window.missing
                    ? formatMessage(names.reason(window.missing))
                    : window.citations
                        .slice(0, 1)
                        .map((place, i) => (
                          <CitationLink
                            key={i}
                            place={{ ...place, run: place.run || window.run }}
                            label={numberName(read)}
                          />
                        ))}
                </td>
              </tr>
            ))}
          </tbody>
        </DataTable>
      </Collapsible>
    </>
  );
}
