import { useTranslation } from "react-i18next";
import type { Judged, VerificationWindow } from "../../client/incidents";
import { Fold } from "../../components/Fold";
import { Grid } from "../../components/Grid";
import { Link } from "../../components/Link";
import { NO_VALUE, percent, quantity } from "../../core/format";
import { useSentence } from "../../lib/i18n";
import { useNames } from "../../lib/useNames";
import { useNumberName } from "../../lib/useNumberName";
import { PlaceLink } from "../../renderers/findings/Place";

/** The first run on the same host from before the fix, to be laid under one from after it. */
const beforeOf = ({ windows }: Judged, { side, host }: VerificationWindow): string | undefined =>
  side.endsWith("after")
    ? windows.find((one) => one.host === host && one.side === side.replace("after", "before"))?.run
    : undefined;

/** Every window in numbers, each at its run and its lines; and for a cohort every host. */
export function VerifyWindows({ id, result }: { id: string; result: Judged }) {
  const { t } = useTranslation();
  const sentence = useSentence();
  const names = useNames();
  const numberName = useNumberName();
  const { unit, read } = result.primary;
  return (
    <>
      {result.hosts && result.hosts.length > 0 && (
        <Fold id={`hosts-${id}`} title={t("incidents.hosts.title")} count={result.hosts.length}>
          <Grid stack label={t("incidents.hosts.title")}>
            <thead>
              <tr>
                <th>{t("diagnose.host")}</th>
                <th className="right">{t("incidents.verify.change")}</th>
                <th>{t("incidents.verify.note")}</th>
              </tr>
            </thead>
            <tbody>
              {result.hosts.map((one) => (
                <tr key={one.host}>
                  <td className="mono">{one.host}</td>
                  <td className="num right">{one.change === null ? NO_VALUE : percent(one.change)}</td>
                  <td>
                    {one.left_out ? sentence(one.left_out) : one.outlier ? t("incidents.verify.outlier") : ""}
                  </td>
                </tr>
              ))}
            </tbody>
          </Grid>
        </Fold>
      )}
      <Fold id={`windows-${id}`} title={t("incidents.verify.windows")} count={result.windows.length}>
        <Grid stack label={t("incidents.verify.windows")}>
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
            {result.windows.map((one) => (
              <tr key={`${one.side}${one.run}`}>
                <td>{t(`incidents.verify.side.${one.side}`)}</td>
                <td className="mono">
                  <Link
                    to="/runs/$runId"
                    params={{ runId: one.run }}
                    search={{ before: beforeOf(result, one) } as never}
                  >
                    {one.host}
                  </Link>
                </td>
                <td className="num right">{quantity(one.mean, unit)}</td>
                <td className="num right">{one.values.filter((value) => value !== null).length}</td>
                <td className="num right">{quantity(one.load, result.load.unit)}</td>
                <td>
                  {one.missing
                    ? sentence(names.reason(one.missing))
                    : one.citations
                        .slice(0, 1)
                        .map((place, i) => (
                          <PlaceLink key={i} place={{ run: one.run, ...place }} label={numberName(read)} />
                        ))}
                </td>
              </tr>
            ))}
          </tbody>
        </Grid>
      </Fold>
    </>
  );
}
