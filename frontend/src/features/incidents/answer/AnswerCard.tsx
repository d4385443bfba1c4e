import { Button } from "@mantine/core";
import { Check, Microscope, X } from "lucide-react";
import type { Diagnosis, Incident } from "../../../client/models";
import { ErrorLine } from "../../../components/EmptyState";
import { ButtonLink, Link } from "../../../components/Link";
import { VerdictIcon } from "../../../components/VerdictIcon";
import { sortBySeverity, toFigure } from "../../../core/text/figures";
import { formatSeconds } from "../../../core/text/format";
import { useOpenDialog } from "../../../lib/dialogs";
import { useIncidentWrite } from "../../../lib/incidents/incidents";
import { useCauses, usePermission } from "../../../lib/queries";
import { useLocalized, useMessage } from "../../../lib/text/i18n";
import { useNames } from "../../../lib/text/useNames";
import { useTranslation } from "../../../lib/text/useTranslation";
import type { NamedCause } from "../../../widgets/findings/api";
import { SubjectTags } from "../../../widgets/findings/CauseCard";
import { FindingNumbers } from "../../../widgets/findings/FindingNumbers";
import { FindingRow } from "../../../widgets/findings/FindingRow";
import { HarmSummary } from "../../../widgets/findings/HarmSummary";
import { Consumers } from "../../../widgets/findings/Leads";
import { EditConflict } from "../page/EditConflict";
import type { IncidentView } from "../page/useIncidentView";
import classes from "./Answer.module.css";
import { useDiagnoseHost } from "./DiagnoseHost";

const MAX_FIGURES = 3;
const MAX_RULED_OUT = 4;
const MAX_FINDINGS = 3;

interface Props {
  incident: Incident;
  view: IncidentView;
  diagnosis: Diagnosis;
}

/** Result of an ended diagnosis: cause, numbers, fix and excluded causes; or the reason why no cause is named. */
export function AnswerCard({ incident, view, diagnosis }: Props) {
  const { t } = useTranslation();
  const names = useNames();
  const formatMessage = useMessage();
  const [cause, ...others] = diagnosis.result?.causes ?? [];
  const ruledOut = diagnosis.result?.ruled_out ?? [];
  return (
    <>
      {cause ? (
        <NamedCauseAnswer incident={incident} view={view} diagnosis={diagnosis} cause={cause} />
      ) : (
        <div className={classes.row}>
          <p className={classes.headline}>
            <VerdictIcon verdict="inconclusive" />{" "}
            <strong>
              {diagnosis.state === "done"
                ? t("findings.noCause")
                : t(diagnosis.state === "canceled" ? "incidents.answer.canceled" : "incidents.answer.failed")}
            </strong>{" "}
            <span className="dim">
              {diagnosis.failure
                ? formatMessage(diagnosis.failure)
                : diagnosis.state === "done" && t("incidents.answer.noCauseText")}
            </span>
          </p>
          <DeeperCapturesLink diagnosis={diagnosis} />
          <DiagnoseAgainButton incident={incident} diagnosis={diagnosis} />
        </div>
      )}
      {!cause && diagnosis.result && <DiagnosisLeads result={diagnosis.result} />}
      <p className={classes.otherResults}>
        {others.length > 0 && (
          <span>
            <span className="dim">{t("incidents.answer.others")}</span>{" "}
            {others.map((item) => names.cause(item.id)).join(" · ")}
          </span>
        )}
        {ruledOut.length > 0 && (
          <span>
            <span className="dim">{t("findings.ruledOut")}</span>{" "}
            {ruledOut
              .slice(0, MAX_RULED_OUT)
              .map((item) => names.cause(item.id))
              .join(" · ")}
            {ruledOut.length > MAX_RULED_OUT &&
              ` ${t("incidents.answer.more", { count: ruledOut.length - MAX_RULED_OUT })}`}
          </span>
        )}
        <Link to="/diagnoses/$diagnosisId" params={{ diagnosisId: diagnosis.id }}>
          {t("incidents.answer.from", {
            number: diagnosis.number,
            host: diagnosis.host.name,
            time: formatSeconds(diagnosis.elapsed_s),
          })}
        </Link>
      </p>
    </>
  );
}

/** Clues for a diagnosis without a cause: the most severe findings, and the largest consumers of each resource. */
function DiagnosisLeads({ result }: { result: NonNullable<Diagnosis["result"]> }) {
  const { t } = useTranslation();
  const findings = sortBySeverity(result.context).slice(0, MAX_FINDINGS);
  const consumers = result.consumers ?? [];
  return (
    <>
      {findings.map((finding, i) => (
        <FindingRow key={`${finding.rule}${i}`} finding={finding} verdict="context" />
      ))}
      {consumers.length > 0 && (
        <section className={classes.leads} aria-label={t("findings.consumers")}>
          <h2>{t("findings.consumers")}</h2>
          <Consumers items={consumers} />
        </section>
      )}
    </>
  );
}

function NamedCauseAnswer({ incident, view, diagnosis, cause }: Props & { cause: NamedCause }) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const names = useNames();
  const about = useCauses().data?.get(cause.id);
  const write = useIncidentWrite(incident);
  const title = names.cause(cause.id);
  const hypotheses = incident.hypotheses.filter((item) => item.cause === cause.id);
  const isRejected = incident.rejected_causes.some((item) => item.cause === cause.id);
  const isOpen = incident.permissions.edit && incident.state !== "resolved";
  return (
    <>
      <div className={classes.row}>
        <div className={classes.headline}>
          <p className={classes.confidence}>
            <VerdictIcon
              verdict={isRejected ? "refutes" : cause.confidence === "possible" ? "weak" : "supports"}
            />
            {t(isRejected ? "incidents.answer.rejected" : `findings.confidence.${cause.confidence}`)}
          </p>
          <h2 className={classes.cause}>{title}</h2>
          <span className={classes.tags}>
            <SubjectTags subject={cause.scope} />
          </span>
        </div>
        {isOpen && (
          <div className={classes.buttons}>
            {!isRejected && hypotheses.length > 0 && (
              <Button
                leftSection={<Check size={14} />}
                loading={write.pending}
                onClick={() =>
                  write.send({
                    method: "POST",
                    path: "/cause-confirmations",
                    body: { diagnosis_id: diagnosis.id, cause: cause.id },
                  })
                }
              >
                {t("incidents.answer.confirm")}
              </Button>
            )}
            <DeeperCapturesLink diagnosis={diagnosis} />
            {!isRejected && (
              <Button
                variant="default"
                leftSection={<X size={14} />}
                onClick={() => view.set({ dialog: "reject", what: cause.id })}
              >
                {t("incidents.answer.reject")}
              </Button>
            )}
          </div>
        )}
      </div>
      <ErrorLine error={write.error} />
      <EditConflict incident={incident} write={write} />
      {diagnosis.result?.harm && (
        <p className={classes.essence}>
          <strong>{t("findings.harm")}</strong> <HarmSummary harm={diagnosis.result.harm} />
        </p>
      )}
      {about && (
        <p className={classes.essence}>
          <strong>{t("findings.fix")}</strong> {localize(about.fix)}
        </p>
      )}
      <FindingNumbers
        figures={cause.evidence
          .filter((item) => item.unit !== "bool")
          .slice(0, MAX_FIGURES)
          .map(toFigure)}
        verdict="supports"
        label={t("findings.evidenceFor", { cause: title })}
        outerSubject={cause.scope}
      />
    </>
  );
}

/** Link to the deeper captures that the diagnosis suggests, with their costs. */
function DeeperCapturesLink({ diagnosis }: { diagnosis: Diagnosis }) {
  const { t } = useTranslation();
  if ((diagnosis.result?.deeper ?? []).length === 0) return null;
  return (
    <ButtonLink
      variant="default"
      leftSection={<Microscope size={14} />}
      to="/diagnoses/$diagnosisId"
      params={{ diagnosisId: diagnosis.id }}
      // If a cause is named, the section is initially collapsed.
      search={(diagnosis.result?.causes ?? []).length > 0 ? { fold: "deeper" } : {}}
      hash="deeper"
    >
      {t("incidents.answer.deeper")}
    </ButtonLink>
  );
}

function DiagnoseAgainButton({ incident, diagnosis }: { incident: Incident; diagnosis: Diagnosis }) {
  const { t } = useTranslation();
  const can = usePermission();
  const openDialog = useOpenDialog();
  const start = useDiagnoseHost(incident);
  if (!can("capture.light") || !incident.permissions.edit || incident.state === "resolved") return null;
  const isOfIncident = incident.hosts.some((host) => host.id === diagnosis.host.id && host.can_capture);
  return (
    <>
      <ErrorLine error={start.error} />
      <Button
        variant="default"
        loading={start.isPending}
        onClick={() =>
          isOfIncident ? start.mutate(diagnosis.host.id) : openDialog("diagnose", [diagnosis.host.id])
        }
      >
        {t("diagnosis.repeat")}
      </Button>
    </>
  );
}
