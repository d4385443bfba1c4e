import type { Run } from "../../client/models";
import { Panel } from "../../components/Page";
import { useTranslation } from "../../lib/text/useTranslation";
import { RunCharts } from "../../widgets/charts/RunCharts";
import { BaselineRunSelect } from "./BaselineRunSelect";
import { SeriesPanel } from "./SeriesPanel";

interface ChartsTabProps {
  run: Run;
  /** Id of the baseline run, or an empty text. */
  before: string;
  onBaseline: (id: string) => void;
}

/** Charts of a run, optionally next to those of a baseline run, and its series. */
export function ChartsTab({ run, before, onBaseline }: ChartsTabProps) {
  const { t } = useTranslation();
  return (
    <>
      <Panel
        title={t("visuals.title")}
        flush
        id="visuals"
        headerExtra={
          run.host && (
            <BaselineRunSelect run={run} hostId={run.host.id} before={before} onChange={onBaseline} />
          )
        }
      >
        <RunCharts runId={run.id} baseline={before || undefined} />
      </Panel>
      <SeriesPanel runId={run.id} />
    </>
  );
}
