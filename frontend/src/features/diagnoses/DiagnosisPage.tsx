import { Anchor, Button } from "@mantine/core";
import { useParams } from "@tanstack/react-router";
import { CircleAlert, Siren, Stethoscope } from "lucide-react";
import { useEffect, useState } from "react";
import type { Diagnosis } from "../../client/models";
import { CancelButton } from "../../components/CancelButton";
import { BlockSkeleton, EmptyState, ErrorLine } from "../../components/EmptyState";
import { ButtonLink, Link } from "../../components/Link";
import { LoadingPage } from "../../components/LoadingPage";
import { Page, Panel } from "../../components/Page";
import { RunStateIcon } from "../../components/StatusIcon";
import { formatMilliseconds, formatSeconds } from "../../core/text/format";
import { useOpenDialog } from "../../lib/dialogs";
import { post, queryKeys, useAction, useDiagnosis, usePermission } from "../../lib/queries";
import { useMessage } from "../../lib/text/i18n";
import { useTimeFormat } from "../../lib/text/useFormat";
import { useNames } from "../../lib/text/useNames";
import { useTranslation } from "../../lib/text/useTranslation";
import { DiagnosisResult } from "../../widgets/findings/DiagnosisResult";
import { NoCauseNote } from "../../widgets/findings/FindingsPanel";
import { NamedCauses } from "../../widgets/findings/NamedCauses";
import classes from "./Diagnoses.module.css";
import { ScopeTag } from "./DiagnosesPage";
import { DiagnosisStages } from "./DiagnosisStages";
import { PeerDifferences } from "./PeerDifferences";

/** Page of a diagnosis: progress, stages, result, and differences from peers. */
export function DiagnosisPage() {
  const { diagnosisId = "" } = useParams({ strict: false });
  const { t } = useTranslation();
  const query = useDiagnosis(diagnosisId);
  // A result whose names arrive later would push the stages below it out of view.
  const isNamed = useNames().ready;
  if (query.data && isNamed) return <DiagnosisContent diagnosis={query.data} since={query.dataUpdatedAt} />;
  return (
    <LoadingPage
      title={t("diagnosis.title")}
      above={<Link to="/diagnoses">{t("nav.diagnoses")}</Link>}
      query={query}
    >
      <BlockSkeleton height={44} />
      <BlockSkeleton height={560} />
    </LoadingPage>
  );
}

/** Return the elapsed seconds: the server's value, plus, while running, the time since its response (`since`, ms). */
function useElapsed(diagnosis: Diagnosis, since: number): number {
  const running = diagnosis.state === "running";
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (!running) return;
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, [running]);
  return diagnosis.elapsed_s + (running ? Math.max(0, now - since) / 1000 : 0);
}

function DiagnosisContent({ diagnosis, since }: { diagnosis: Diagnosis; since: number }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const { host, state, stages, peers } = diagnosis;
  return (
    <Page
      title={`#${diagnosis.number} ${host.name}`}
      above={
        <>
          <Link to="/diagnoses">{t("nav.diagnoses")}</Link>
          {" / "}
          <Link to="/hosts/$hostId" params={{ hostId: host.id }}>
            {host.name}
          </Link>
        </>
      }
      meta={
        <>
          <RunStateIcon state={state} />
          <ScopeTag scope={diagnosis.scope} />
          {diagnosis.reason && <span>“{diagnosis.reason}”</span>}
          <span className="num">{time.iso(diagnosis.created_at)}</span>
          <BaselineLink diagnosis={diagnosis} />
          {peers.length > 0 && (
            <span>{t("diagnosis.peers", { names: peers.map((peer) => peer.name).join(", ") })}</span>
          )}
        </>
      }
    >
      <DiagnosisProgress diagnosis={diagnosis} since={since} />
      <Panel flush title={t("diagnosis.answer")} id="answer">
        <DiagnosisOutcome diagnosis={diagnosis} />
      </Panel>
      <Panel flush title={t("diagnosis.stages")} id="stages">
        <DiagnosisStages diagnosis={diagnosis} />
      </Panel>
      {diagnosis.result && stages.length > 0 && peers.length > 0 && (
        <PeerDifferences items={diagnosis.result.differences} peers={peers} />
      )}
    </Page>
  );
}

/** Link to the baseline run of the diagnosis. */
function BaselineLink({ diagnosis }: { diagnosis: Diagnosis }) {
  const { t } = useTranslation();
  if (diagnosis.baseline_run_id)
    return (
      <Link to="/runs/$runId" params={{ runId: diagnosis.baseline_run_id }}>
        {t("diagnosis.baseline")}
      </Link>
    );
  return diagnosis.state === "done" ? <span>{t("diagnosis.noBaseline")}</span> : null;
}

/** Elapsed time, number of stages, CPU cost, and the actions: cancel, open incident, repeat. */
function DiagnosisProgress({ diagnosis, since }: { diagnosis: Diagnosis; since: number }) {
  const { t } = useTranslation();
  const can = usePermission();
  const openDialog = useOpenDialog();
  const elapsed = useElapsed(diagnosis, since);
  const running = diagnosis.state === "running";
  const cancel = useAction(
    () => post(`/diagnoses/${diagnosis.id}/cancel`),
    [queryKeys.diagnoses, queryKeys.captures],
  );
  const cpuTimes = diagnosis.stages.flatMap((stage) => stage.host_cpu_ms ?? []);
  const cpu = cpuTimes.length > 0 ? cpuTimes.reduce((all, ms) => all + ms, 0) : null;
  return (
    <div className={classes.bar}>
      <span>
        <span className="dim">{t("diagnosis.elapsed")}</span>{" "}
        <span className="num" role="timer">
          {formatSeconds(running ? Math.floor(elapsed) : elapsed)}
        </span>
      </span>
      <span>
        <Anchor href="#stages">{t("diagnoses.stages")}</Anchor>{" "}
        <span className="num">{diagnosis.stages.length}</span>
      </span>
      <span>
        <span className="dim">{t("captures.cpu")}</span>{" "}
        <span className="num">{formatMilliseconds(cpu)}</span>
      </span>
      <span className={classes.barActions}>
        <ErrorLine error={cancel.error} />
        {running && can("capture.cancel") && (
          <CancelButton loading={cancel.isPending} onClick={() => cancel.mutate(undefined)}>
            {t("diagnosis.cancel")}
          </CancelButton>
        )}
        {!running && can("incident.edit") && (
          <Button
            variant="default"
            leftSection={<Siren size={14} />}
            onClick={() => openDialog("incident", [diagnosis.host.id], "", [], "", diagnosis.id)}
          >
            {t("diagnosis.openIncident")}
          </Button>
        )}
        {!running && can("capture.light") && (
          <Button
            variant="default"
            leftSection={<Stethoscope size={14} />}
            onClick={() => openDialog("diagnose", [diagnosis.host.id])}
          >
            {t("diagnosis.repeat")}
          </Button>
        )}
      </span>
    </div>
  );
}

/** Causes named by the ended stages while a later stage runs. */
function PreliminaryCauses({ stages }: { stages: Diagnosis["stages"] }) {
  const { t } = useTranslation();
  const latest = stages.findLast((stage) => stage.named);
  return (
    <div className={classes.pending} role="status">
      {latest?.named && (
        <p>
          <strong>{t("diagnosis.preliminary", { time: formatSeconds(latest.named_after_s ?? 0) })}</strong>{" "}
          <NamedCauses named={latest.named} />
        </p>
      )}
      <p>{t("diagnosis.pending")}</p>
    </div>
  );
}

/** Result of the diagnosis, or the reason why it has none. */
function DiagnosisOutcome({ diagnosis }: { diagnosis: Diagnosis }) {
  const { t } = useTranslation();
  const formatMessage = useMessage();
  const names = useNames();
  const { state, result, failure, stages, host } = diagnosis;
  if (state === "running") return <PreliminaryCauses stages={stages} />;
  if (state === "canceled")
    return (
      <EmptyState title={t("diagnosis.canceled")}>
        {stages.some((stage) => stage.run_id) ? t("diagnosis.canceledText") : t("diagnosis.canceledEarly")}
      </EmptyState>
    );
  if (state === "failed" || !result)
    return (
      <div role="alert">
        <EmptyState
          title={
            <>
              <CircleAlert size={16} className={classes.bad ?? ""} aria-hidden /> {t("diagnosis.failed")}
            </>
          }
          action={
            <ButtonLink variant="default" to="/hosts/$hostId" params={{ hostId: host.id }}>
              {t("diagnosis.checkHost")}
            </ButtonLink>
          }
        >
          {formatMessage(failure)}
        </EmptyState>
      </div>
    );
  return (
    <>
      <DiagnosisResult
        ranking={result}
        triedCollectors={[...new Set(stages.flatMap((stage) => Object.keys(stage.collectors)))]}
        hostId={host.id}
        consumers={result.consumers ?? []}
        deeper={result.deeper ?? []}
        scope={diagnosis.scope.kind ? `${diagnosis.scope.kind}=${diagnosis.scope.value}` : ""}
        none={
          <NoCauseNote>
            {t("diagnosis.noCause", {
              out: result.ruled_out.length,
              missing: result.not_collected.length,
              open: result.inconclusive.length,
            })}
          </NoCauseNote>
        }
      />
      {result.refused.length > 0 && (
        <p className={classes.refused}>
          {t("diagnosis.refused", { what: result.refused.map(names.collector).join(", ") })}
        </p>
      )}
    </>
  );
}
