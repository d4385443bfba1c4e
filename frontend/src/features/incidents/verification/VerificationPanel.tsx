import { Button } from "@mantine/core";
import type { Incident } from "../../../client/models";
import { ErrorLine } from "../../../components/EmptyState";
import { Link } from "../../../components/Link";
import { StatusIcon, type Tone } from "../../../components/StatusIcon";
import { formatNumber, formatPercent, formatQuantity } from "../../../core/text/format";
import { incidentKeys } from "../../../lib/incidents/incidents";
import { isActive, post, queryKeys, useAction, usePermission } from "../../../lib/queries";
import { useNumberName } from "../../../lib/text/useNumberName";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { Verification, VerificationOutcome } from "../api";
import classes from "../fixes/Fixes.module.css";
import { useIncidentText } from "../page/useIncidentText";
import { CodeChanges } from "./CodeChanges";
import { MeasurementWindows } from "./MeasurementWindows";
import { IntervalChart, WindowsChart } from "./VerificationCharts";

const TONES: Record<VerificationOutcome, Tone> = {
  verified: "ok",
  worse: "bad",
  no_effect: "off",
  no_conclusion: "warn",
};

interface Props {
  incident: Incident;
  verification: Verification;
}

/** Verification of a fix: its progress while it collects, then its outcome as text and charts. */
export function VerificationPanel({ incident, verification }: Props) {
  const { t } = useTranslation();
  const words = useIncidentText(incident);
  const numberName = useNumberName();
  const { result, state } = verification;
  const control = incident.hosts.find((each) => each.id === verification.control_host_id);
  const taken = state === "before" ? verification.captures_before : verification.after;
  return (
    <section className={classes.verification} aria-label={t("incidents.verify.title")}>
      <p className={classes.outcome}>
        {result ? (
          <>
            <StatusIcon tone={TONES[result.outcome]}>
              <strong>{t(`incidents.verify.outcome.${result.outcome}`)}</strong>
            </StatusIcon>
            {result.change !== null && (
              <span className="num">
                {formatChange(result.change)} [{formatChange(result.low)}, {formatChange(result.high)}]
              </span>
            )}
          </>
        ) : (
          <StatusIcon tone={state === "failed" ? "bad" : state === "canceled" ? "off" : "busy"}>
            {t(`incidents.verify.state.${state}`)}
          </StatusIcon>
        )}
        {verification.primary && (
          <span title={verification.primary.read}>
            {t(`playbooks.primary.${verification.primary.better}`, {
              name: numberName(verification.primary.read),
            })}
          </span>
        )}
        {(state === "before" || state === "collecting") && (
          <span className="num">{t("incidents.verify.captureCount", { count: taken.length })}</span>
        )}
        <span className="dim">
          {t(`incidents.verify.kind.${verification.kind}`)}
          {control ? `: ${control.name}` : ""}
        </span>
      </p>
      {verification.failure && <p className={classes.explanation}>{words(verification.failure)}</p>}
      {result && (
        <>
          <p className={classes.explanation}>
            {result.outcome !== "no_conclusion" &&
              t(`incidents.verify.means.${result.outcome}`, {
                bar: formatNumber(result.minimum_change * 100),
              })}
            {result.per_work && ` ${t("incidents.verify.perWork")}`}
            {result.load.change !== null && (
              <span className="dim">
                {" "}
                {t("incidents.verify.load", {
                  change: formatChange(result.load.change),
                  before: formatQuantity(result.load.before, result.load.unit),
                  after: formatQuantity(result.load.after, result.load.unit),
                })}
              </span>
            )}
          </p>
          {result.reasons.map((reason) => (
            <p key={reason.key} className={classes.explanation}>
              {words(reason)}
            </p>
          ))}
          <div className={classes.drawing}>
            <WindowsChart result={result} />
            <IntervalChart result={result} />
          </div>
          <MeasurementWindows id={verification.id} result={result} />
          <CodeChanges id={verification.id} result={result} />
        </>
      )}
      <RunningVerification incident={incident} verification={verification} />
    </section>
  );
}

const formatChange = (share: number | null): string =>
  share === null ? "–" : `${share > 0 ? "+" : ""}${formatPercent(share)}`;

function RunningVerification({ incident, verification }: Props) {
  const { t } = useTranslation();
  const can = usePermission();
  const captures = [...verification.captures_before, ...verification.after];
  const runs = incident.runs.filter((run) => captures.includes(run.capture_id) && isActive(run.state));
  const cancel = useAction(
    () =>
      Promise.all(
        [...new Set(runs.map((run) => run.capture_id))].map((id) => post(`/captures/${id}/cancel`)),
      ),
    [queryKeys.captures, incidentKeys.all],
  );
  if (runs.length === 0) return null;
  return (
    <div className={classes.outcome}>
      {runs.map((run) => (
        <Link key={run.run_id} to="/captures/$captureId" params={{ captureId: run.capture_id }}>
          #{run.number}
        </Link>
      ))}
      {can("capture.cancel") && (
        <Button
          size="compact-sm"
          color="red"
          variant="outline"
          loading={cancel.isPending}
          onClick={() => cancel.mutate(undefined)}
        >
          {t("captures.cancel")}
        </Button>
      )}
      <ErrorLine error={cancel.error} />
    </div>
  );
}
