import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import type { Diagnosis, Incident } from "../../../client/models";
import { CancelButton } from "../../../components/CancelButton";
import { BlockSkeleton, ErrorLine, QueryContent } from "../../../components/EmptyState";
import { Link } from "../../../components/Link";
import { StatusIcon } from "../../../components/StatusIcon";
import { formatSeconds } from "../../../core/text/format";
import { useCaptureStream } from "../../../lib/captures/useCaptureStream";
import { incidentKeys } from "../../../lib/incidents/incidents";
import { post, queryKeys, useAction, usePermission } from "../../../lib/queries";
import { useTranslation } from "../../../lib/text/useTranslation";
import { RunBars } from "../../../widgets/capture-progress/RunBars";
import { NamedCauses } from "../../../widgets/findings/NamedCauses";
import classes from "./Answer.module.css";

interface Props {
  incident: Incident;
  diagnosis: Diagnosis;
}

/** Running diagnosis: elapsed time, causes named so far, progress of the collectors, and a cancel button. */
export function DiagnosisProgress({ incident, diagnosis }: Props) {
  const { t } = useTranslation();
  const can = usePermission();
  const cache = useQueryClient();
  const cancel = useAction(
    () => post(`/diagnoses/${diagnosis.id}/cancel`),
    [queryKeys.diagnoses, queryKeys.captures],
  );
  const latest = diagnosis.stages.findLast((stage) => stage.named);
  const last = diagnosis.stages.at(-1);
  // When the diagnosis ends, its causes become hypotheses, so the incident is loaded again.
  useEffect(
    () => () => void cache.invalidateQueries({ queryKey: incidentKeys.detail(incident.id) }),
    [cache, incident.id],
  );
  return (
    <>
      <div className={classes.row}>
        <p className={classes.headline} role="status">
          <StatusIcon tone="busy">
            {t("incidents.answer.running", { number: diagnosis.number, host: diagnosis.host.name })}
          </StatusIcon>{" "}
          <span className="num">{formatSeconds(Math.floor(diagnosis.elapsed_s))}</span>{" "}
          {latest?.named && (
            <>
              <span className="dim">
                {t("diagnosis.namedAfter", { time: formatSeconds(latest.named_after_s ?? 0) })}
              </span>{" "}
              <NamedCauses named={latest.named} />
            </>
          )}
        </p>
        <Link to="/diagnoses/$diagnosisId" params={{ diagnosisId: diagnosis.id }}>
          {t("incidents.answer.details")}
        </Link>
        {can("capture.cancel") && (
          <CancelButton loading={cancel.isPending} onClick={() => cancel.mutate(undefined)}>
            {t("incidents.answer.cancel")}
          </CancelButton>
        )}
      </div>
      <ErrorLine error={cancel.error} />
      {last && <StageRuns captureId={last.capture_id} />}
    </>
  );
}

function StageRuns({ captureId }: { captureId: string }) {
  const { query, since } = useCaptureStream(captureId);
  return (
    <QueryContent query={query} skeleton={<BlockSkeleton height={72} />}>
      {(capture) => <RunBars capture={capture} since={since} dense />}
    </QueryContent>
  );
}
