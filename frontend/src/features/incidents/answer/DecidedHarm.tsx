import { ErrorLine, QueryContent } from "../../../components/EmptyState";
import { Link } from "../../../components/Link";
import { formatSeconds } from "../../../core/text/format";
import { useDiagnosis } from "../../../lib/queries";
import { useTranslation } from "../../../lib/text/useTranslation";
import { HarmSummary } from "../../../widgets/findings/HarmSummary";
import classes from "./Answer.module.css";

/** Harm that a diagnosis measured before the fix, with a link to that diagnosis. */
export function DecidedHarm({ diagnosisId }: { diagnosisId: string }) {
  const { t } = useTranslation();
  const query = useDiagnosis(diagnosisId);
  if (query.error && !query.data) return <ErrorLine error={query.error} />;
  return (
    <p className={classes.essence}>
      <strong>{t("findings.harm")}</strong>{" "}
      <QueryContent query={query} skeleton={<span className="dim">{t("state.loading")}</span>}>
        {(diagnosis) => (
          <>
            <HarmSummary harm={diagnosis.result?.harm ?? []} />{" "}
            <Link to="/diagnoses/$diagnosisId" params={{ diagnosisId }} className={classes.source}>
              {t("incidents.answer.from", {
                number: diagnosis.number,
                host: diagnosis.host.name,
                time: formatSeconds(diagnosis.elapsed_s),
              })}
            </Link>
          </>
        )}
      </QueryContent>
    </p>
  );
}
