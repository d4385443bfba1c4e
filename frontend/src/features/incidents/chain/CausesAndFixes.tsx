import type { Incident } from "../../../client/models";
import { ErrorLine } from "../../../components/EmptyState";
import { StatusIcon, type Tone } from "../../../components/StatusIcon";
import { VerdictIcon, type VerdictState } from "../../../components/VerdictIcon";
import { cx } from "../../../core/cx";
import { symptomStep } from "../../../core/incidents/chain";
import { formatPercent } from "../../../core/text/format";
import { useCauseOutcomes, useIncidentWrite } from "../../../lib/incidents/incidents";
import { isActive } from "../../../lib/queries";
import { useTimeFormat } from "../../../lib/text/useFormat";
import { useNames } from "../../../lib/text/useNames";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { Fix, RejectedCause } from "../api";
import { EditConflict } from "../page/EditConflict";
import { type IncidentView, useCauseName } from "../page/useIncidentView";
import classes from "./EvidenceChain.module.css";

interface Props {
  incident: Incident;
  view: IncidentView;
}

export const FIX_TONES: Record<Fix["state"], Tone> = {
  planned: "idle",
  applied: "busy",
  verified: "ok",
  no_effect: "off",
  worse: "bad",
  no_conclusion: "warn",
  reverted: "off",
};

/** Lower half of the evidence chain: causes, fixes and their verifications. The first missing part is a gap. */
export function CausesAndFixes({ incident, view }: Props) {
  const { t } = useTranslation();
  const { causes, fixes, permissions } = incident;
  const tried = fixes.some((fix) => fix.verifications.length > 0);
  return (
    <>
      {causes.length > 0 ? (
        causes.map((cause) => (
          <CauseItem key={cause.hypothesis} incident={incident} view={view} cause={cause} />
        ))
      ) : (
        <ChainGap title={t("incidents.chain.noCause")} />
      )}
      {incident.rejected_causes
        .filter((wrongCause) => !causes.some((each) => each.cause === wrongCause.cause))
        .map((wrongCause) => (
          <li key={wrongCause.cause} className={classes.link} data-kind="cause">
            <span className={classes.node} aria-hidden>
              <VerdictIcon verdict="refutes" />
            </span>
            <CauseTitle incident={incident} cause={wrongCause.cause} wrong />
            <RejectionDetails incident={incident} wrong={wrongCause} />
          </li>
        ))}
      {fixes.map((fix) => (
        <FixLink key={fix.id} fix={fix} view={view} />
      ))}
      {fixes.length === 0 && causes.length > 0 && (
        <ChainGap title={t("incidents.chain.noFix")}>
          {permissions.edit && (
            <button
              type="button"
              className={classes.actionButton}
              onClick={() => view.set({ dialog: "fix", what: causes[0]?.hypothesis ?? "" })}
            >
              {t("incidents.fix.plan")}
            </button>
          )}
        </ChainGap>
      )}
      {fixes.length > 0 && !tried && (
        <ChainGap title={t("incidents.chain.notVerified")}>
          {permissions.edit && (
            <button
              type="button"
              className={classes.actionButton}
              onClick={() => view.set({ dialog: "verify", what: fixes.at(-1)?.id ?? "" })}
            >
              {t("incidents.verify.title")}
            </button>
          )}
        </ChainGap>
      )}
      {incident.needs_symptom_check && incident.state !== "resolved" && (
        <SymptomRecheck incident={incident} view={view} />
      )}
    </>
  );
}

/** Repeats the symptom step after a verified fix, because an incident can have several causes. */
function SymptomRecheck({ incident, view }: Props) {
  const { t } = useTranslation();
  const write = useIncidentWrite(incident);
  const fix = incident.fixes.findLast((fix) => fix.state === "verified");
  const fixed = incident.hypotheses.find((hypothesis) => hypothesis.id === fix?.hypothesis_id);
  const step = symptomStep(incident.steps, fixed?.key.split("/")[0]);
  const host = fix?.hosts[0] ?? incident.hosts[0]?.id;
  const running = incident.runs.some((run) => run.step && isActive(run.state));
  return (
    <li className={cx(classes.link, classes.recheck)}>
      <span className={classes.node} aria-hidden>
        <VerdictIcon verdict="inconclusive" />
      </span>
      <p className={classes.title}>{t("incidents.chain.symptomCheck")}</p>
      <p className={classes.status}>{t("incidents.chain.symptomCheckText")}</p>
      {incident.permissions.capture && step && host && (
        <button
          type="button"
          className={classes.actionButton}
          disabled={running || write.pending}
          onClick={() => {
            view.set({ step, host, pane: "evidence" });
            write.send({
              method: "POST",
              path: "/step-runs",
              body: { step, host_id: host, full_triage: true },
            });
          }}
        >
          {t("incidents.chain.runSymptomStep")}
        </button>
      )}
      <ErrorLine error={write.error} />
      <EditConflict incident={incident} write={write} />
    </li>
  );
}

function ChainGap({ title, children }: { title: string; children?: React.ReactNode }) {
  return (
    <li className={cx(classes.link, classes.missing)}>
      <span className={classes.node} aria-hidden>
        <VerdictIcon verdict="absent" />
      </span>
      <p className={classes.title}>{title}</p>
      {children}
    </li>
  );
}

const CAUSE_ICONS: Record<"likely" | "confirmed", VerdictState> = { likely: "weak", confirmed: "supports" };

function CauseItem({ incident, view, cause }: Props & { cause: Incident["causes"][number] }) {
  const { t } = useTranslation();
  const wrong = incident.rejected_causes.find((wrongCause) => wrongCause.cause === cause.cause);
  return (
    <li className={classes.link} data-kind="cause">
      <span className={classes.node} aria-hidden>
        <VerdictIcon verdict={wrong ? "refutes" : CAUSE_ICONS[cause.confidence]} />
      </span>
      <CauseTitle
        incident={incident}
        cause={cause.cause}
        hypothesis={cause.hypothesis}
        wrong={wrong !== undefined}
      />
      {wrong && <RejectionDetails incident={incident} wrong={wrong} />}
      <p className={classes.status}>
        <strong>{t(`findings.confidence.${cause.confidence}`)}</strong>
        <CauseAccuracy cause={cause.cause} />
        {incident.permissions.edit && (
          <>
            <button
              type="button"
              className={classes.actionButton}
              onClick={() => view.set({ dialog: "fix", what: cause.hypothesis })}
            >
              {t("incidents.fix.plan")}
            </button>
            {cause.cause && (
              <button
                type="button"
                className={classes.actionButton}
                onClick={() => view.set({ dialog: "reject", what: cause.cause })}
              >
                {t(wrong ? "incidents.rejection.change" : "incidents.rejection.button")}
              </button>
            )}
          </>
        )}
      </p>
    </li>
  );
}

interface CauseTitleProps {
  incident: Incident;
  cause: string;
  hypothesis?: string;
  wrong: boolean;
}

function CauseTitle({ incident, cause, hypothesis = "", wrong }: CauseTitleProps) {
  const { t } = useTranslation();
  const name = useCauseName(incident)(cause, hypothesis);
  return (
    <h3 className={classes.title}>
      {t("incidents.chain.cause")}: {wrong ? <s className={classes.refuted}>{name}</s> : name}
    </h3>
  );
}

/** Accuracy of a cause: confirmations out of all confirmations and rejections by users. */
function CauseAccuracy({ cause }: { cause: string }) {
  const { t } = useTranslation();
  const names = useNames();
  const counted = useCauseOutcomes().data?.get(cause);
  if (!counted) return null;
  const instead = Object.entries(counted.instead)
    .map(([cause, count]) => `${names.cause(cause)}: ${count}`)
    .join("\n");
  return (
    <span title={instead ? `${t("incidents.rejection.actualCauseLabel")}\n${instead}` : undefined}>
      {t("incidents.chain.right", { right: counted.right, all: counted.right + counted.wrong })}
    </span>
  );
}

/** Rejection of a cause: the true cause, note, user, pins, and the download of the regression bundle. */
function RejectionDetails({ incident, wrong }: { incident: Incident; wrong: RejectedCause }) {
  const { t } = useTranslation();
  const names = useNames();
  return (
    <p className={classes.status}>
      <StatusIcon tone="bad">{t("incidents.rejection.rejected")}</StatusIcon>
      <span>
        {wrong.true_cause
          ? t("incidents.rejection.actualCause", { cause: names.cause(wrong.true_cause) })
          : ""}
      </span>
      {wrong.note && <q>{wrong.note}</q>}
      {wrong.by && <span>{wrong.by.name}</span>}
      {wrong.pins.length > 0 && <span>{t("incidents.rejection.pins", { count: wrong.pins.length })}</span>}
      {incident.permissions.bundle && (
        <a
          className={classes.actionButton}
          href={`/api/v1/incidents/${incident.id}/regression-bundle`}
          download
        >
          {t("incidents.bundle")}
        </a>
      )}
    </p>
  );
}

function FixLink({ fix, view }: { fix: Fix; view: IncidentView }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const last = fix.verifications.at(-1);
  return (
    <li className={classes.link} data-kind="fix">
      <span className={classes.node} aria-hidden>
        <VerdictIcon verdict={fix.state === "verified" ? "supports" : last ? "inconclusive" : "absent"} />
      </span>
      <button
        type="button"
        className={classes.fix}
        aria-current={view.pane === "fixes" && view.what === fix.id ? "true" : undefined}
        onClick={() => view.set({ pane: "fixes", what: fix.id }, { push: true })}
      >
        <span className={classes.title}>
          {t("incidents.chain.fix")}: {fix.what}
        </span>
        <span className={classes.status}>
          <StatusIcon tone={FIX_TONES[fix.state]}>{t(`fixState.${fix.state}`)}</StatusIcon>
          {fix.applied_at && <span className="num">{time.iso(fix.applied_at)}</span>}
          {last?.result && last.result.change !== null && (
            <span className="num">
              {last.result.change > 0 ? "+" : ""}
              {formatPercent(last.result.change)} [{formatPercent(last.result.low)},{" "}
              {formatPercent(last.result.high)}]
            </span>
          )}
          {last && last.state !== "done" && (
            <StatusIcon tone={last.state === "failed" ? "bad" : last.state === "canceled" ? "off" : "busy"}>
              {t(`incidents.verify.state.${last.state}`)}
            </StatusIcon>
          )}
        </span>
      </button>
    </li>
  );
}
