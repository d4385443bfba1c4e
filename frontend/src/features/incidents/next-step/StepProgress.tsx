import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import type { Incident } from "../../../client/models";
import { CancelButton } from "../../../components/CancelButton";
import { BlockSkeleton, ErrorLine, QueryContent } from "../../../components/EmptyState";
import { StatusIcon } from "../../../components/StatusIcon";
import { useCaptureStream } from "../../../lib/captures/useCaptureStream";
import { incidentKeys } from "../../../lib/incidents/incidents";
import { isActive, post, queryKeys, useAction, usePermission } from "../../../lib/queries";
import { useLocalized } from "../../../lib/text/i18n";
import { useTranslation } from "../../../lib/text/useTranslation";
import { RunBars } from "../../../widgets/capture-progress/RunBars";
import type { IncidentRun } from "../api";
import { type IncidentView, stepNumber } from "../page/useIncidentView";
import classes from "./NextStep.module.css";

interface Props {
  incident: Incident;
  view: IncidentView;
  run: IncidentRun;
}

/** Progress of a step's capture by collector, with a cancel button. */
export function StepProgress({ incident, view, run }: Props) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const can = usePermission();
  const cache = useQueryClient();
  const { query, since } = useCaptureStream(run.capture_id);
  const ended = query.data !== undefined && !isActive(query.data.state);
  useEffect(() => {
    if (ended) void cache.invalidateQueries({ queryKey: incidentKeys.detail(incident.id) });
  }, [ended, cache, incident.id]);
  const cancel = useAction(
    () => post(`/captures/${run.capture_id}/cancel`),
    [queryKeys.captures, incidentKeys.all],
  );
  const step = incident.steps.find((step) => step.key === run.step);
  return (
    <>
      <div className={classes.head}>
        <p className={classes.title}>
          <StatusIcon tone="busy">{t("state.running")}</StatusIcon>{" "}
          {step && (
            <button type="button" className={classes.question} onClick={() => view.choose(step.key)}>
              {stepNumber(view, step.key)} · {localize(step.question)}
            </button>
          )}
        </p>
        {can("capture.cancel") && (
          <CancelButton loading={cancel.isPending} onClick={() => cancel.mutate(undefined)}>
            {t("captures.cancel")}
          </CancelButton>
        )}
      </div>
      <ErrorLine error={cancel.error} />
      <QueryContent query={query} skeleton={<BlockSkeleton height={72} />}>
        {(capture) => <RunBars capture={capture} since={since} dense={capture.runs.length > 2} />}
      </QueryContent>
    </>
  );
}
