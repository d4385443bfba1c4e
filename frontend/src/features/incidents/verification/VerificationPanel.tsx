import { Button } from "@mantine/core";
import { useTranslation } from "react-i18next";
import type { Incident, Outcome, Verification } from "../../client/incidents";
import { Link } from "../../components/Link";
import { Mark, type Tone } from "../../components/Mark";
import { ErrorLine } from "../../components/States";
import { number, percent, quantity } from "../../core/format";
import { incidentKeys } from "../../lib/incidents";
import { isActive, keys, post, useAction, useMay } from "../../lib/queries";
import { useNumberName } from "../../lib/useNumberName";
import classes from "./Fixes.module.css";
import { InCode } from "./InCode";
import { useWords } from "./useWords";
import { IntervalChart, WindowsChart } from "./VerifyCharts";
import { VerifyWindows } from "./VerifyWindows";

const TONES: Record<Outcome, Tone> = {
  verified: "ok",
  worse: "bad",
  no_effect: "off",
  no_conclusion: "warn",
};

interface Props {
  incident: Incident;
  verification: Verification;
}

/** A comparison of before with after: while it collects, then its outcome in words and drawn. */
export function VerificationPart({ incident, verification: one }: Props) {
  const { t } = useTranslation();
  const words = useWords(incident);
  const numberName = useNumberName();
  const { result, state } = one;
  const control = incident.hosts.find((each) => each.id === one.control_host_id);
  const taken = state === "before" ? one.made_before : one.after;
  return (
    <section className={classes.verification} aria-label={t("incidents.verify.title")}>
      <p className={classes.outcome}>
        {result ? (
          <>
            <Mark tone={TONES[result.outcome]}>
              <strong>{t(`incidents.verify.outcome.${result.outcome}`)}</strong>
            </Mark>
            {result.change !== null && (
              <span className="num">
                {change(result.change)} [{change(result.low)}, {change(result.high)}]
              </span>
            )}
          </>
        ) : (
          <Mark tone={state === "failed" ? "bad" : state === "cancelled" ? "off" : "busy"}>
            {t(`incidents.verify.state.${state}`)}
          </Mark>
        )}
        {one.primary && (
          <span title={one.primary.read}>
            {t(`playbooks.primary.${one.primary.better}`, { name: numberName(one.primary.read) })}
          </span>
        )}
        {(state === "before" || state === "collecting") && (
          <span className="num">{t("incidents.verify.taken", { count: taken.length })}</span>
        )}
        <span className="dim">
          {t(`incidents.verify.kind.${one.kind}`)}
          {control ? `: ${control.name}` : ""}
        </span>
      </p>
      {one.failure && <p className={classes.means}>{words(one.failure)}</p>}
      {result && (
        <>
          <p className={classes.means}>
            {result.outcome !== "no_conclusion" &&
              t(`incidents.verify.means.${result.outcome}`, { bar: number(result.bar * 100) })}
            {result.per_work && ` ${t("incidents.verify.perWork")}`}
            {result.load.change !== null && (
              <span className="dim">
                {" "}
                {t("incidents.verify.load", {
                  change: change(result.load.change),
                  before: quantity(result.load.before, result.load.unit),
                  after: quantity(result.load.after, result.load.unit),
                })}
              </span>
            )}
          </p>
          {result.reasons.map((reason) => (
            <p key={reason.key} className={classes.means}>
              {words(reason)}
            </p>
          ))}
          <div className={classes.drawing}>
            <WindowsChart result={result} />
            <IntervalChart result={result} />
          </div>
          <VerifyWindows id={one.id} result={result} />
          <InCode id={one.id} result={result} />
        </>
      )}
      <Running incident={incident} verification={one} />
    </section>
  );
}

const change = (share: number | null): string =>
  share === null ? "–" : `${share > 0 ? "+" : ""}${percent(share)}`;

function Running({ incident, verification }: Props) {
  const { t } = useTranslation();
  const may = useMay();
  const made = [...verification.made_before, ...verification.after];
  const runs = incident.runs.filter((one) => made.includes(one.capture_id) && isActive(one.state));
  const cancel = useAction(
    () =>
      Promise.all(
        [...new Set(runs.map((one) => one.capture_id))].map((id) => post(`/captures/${id}/cancel`)),
      ),
    [keys.captures, incidentKeys.all],
  );
  if (runs.length === 0) return null;
  return (
    <div className={classes.outcome}>
      {runs.map((one) => (
        <Link key={one.run_id} to="/captures/$captureId" params={{ captureId: one.capture_id }}>
          #{one.number}
        </Link>
      ))}
      {may("capture.cancel") && (
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
