import { Button } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { Square } from "lucide-react";
import { useEffect } from "react";
import { useTranslation } from "react-i18next";
import type { Incident, IncidentRun } from "../../client/incidents";
import { Mark } from "../../components/Mark";
import { BlockSkeleton, ErrorLine, Loaded } from "../../components/States";
import { usePick } from "../../lib/i18n";
import { incidentKeys } from "../../lib/incidents";
import { isActive, keys, post, useAction, useMay } from "../../lib/queries";
import { useCaptureStream } from "../../lib/useCaptureStream";
import { RunBars } from "../../renderers/capture/RunBars";
import classes from "./Next.module.css";
import { type IncidentView, numberOf } from "./view";

interface Props {
  incident: Incident;
  view: IncidentView;
  run: IncidentRun;
}

/** What runs now for a step, collector by collector, with the way to stop it. */
export function Progress({ incident, view, run }: Props) {
  const { t } = useTranslation();
  const pick = usePick();
  const may = useMay();
  const cache = useQueryClient();
  const { query, since } = useCaptureStream(run.capture_id);
  const ended = query.data !== undefined && !isActive(query.data.state);
  useEffect(() => {
    if (ended) void cache.invalidateQueries({ queryKey: incidentKeys.one(incident.id) });
  }, [ended, cache, incident.id]);
  const cancel = useAction(
    () => post(`/captures/${run.capture_id}/cancel`),
    [keys.captures, incidentKeys.all],
  );
  const step = incident.steps.find((one) => one.key === run.step);
  return (
    <>
      <div className={classes.head}>
        <p className={classes.title}>
          <Mark tone="busy">{t("state.running")}</Mark>{" "}
          {step && (
            <button type="button" className={classes.asks} onClick={() => view.choose(step.key)}>
              {numberOf(view, step.key)} · {pick(step.asks)}
            </button>
          )}
        </p>
        {may("capture.cancel") && (
          <Button
            color="red"
            variant="outline"
            leftSection={<Square size={12} />}
            loading={cancel.isPending}
            onClick={() => cancel.mutate(undefined)}
          >
            {t("captures.cancel")}
          </Button>
        )}
      </div>
      <ErrorLine error={cancel.error} />
      <Loaded query={query} skeleton={<BlockSkeleton height={72} />}>
        {(capture) => <RunBars capture={capture} since={since} dense={capture.runs.length > 2} />}
      </Loaded>
    </>
  );
}
