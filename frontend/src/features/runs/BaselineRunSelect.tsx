import { Select } from "@mantine/core";
import type { Run } from "../../client/models";
import { formatSearch } from "../../core/search";
import { useCaptures } from "../../lib/queries";
import { useTimeFormat } from "../../lib/text/useFormat";
import { useNames } from "../../lib/text/useNames";
import { useTranslation } from "../../lib/text/useTranslation";
import { useRunCharts } from "../../widgets/charts/RunCharts";
import { PinButton } from "../../widgets/pins/PinButton";

const FINISHED_STATES = new Set(["done", "partial"]);
/** Kinds of charts that can display two runs. */
const COMPARABLE_KINDS = new Set(["sched_latency"]);

interface Props {
  run: Run;
  hostId: string;
  before: string;
  onChange: (before: string) => void;
}

/** Select of the baseline run for charts, among the runs of the same host; empty without a comparable chart. */
export function BaselineRunSelect({ run, hostId, before, onChange }: Props) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const names = useNames();
  const charts = useRunCharts(run.id, [], [], before || undefined).data?.charts ?? [];
  const captures = useCaptures({ host: hostId });
  const others = (captures.data?.items ?? []).flatMap((capture) =>
    capture.runs
      .filter((item) => item.id !== run.id && item.host?.id === hostId && FINISHED_STATES.has(item.state))
      .map((run) => ({
        value: run.id,
        label: `#${capture.number} ${names.plan(capture.plan)} · ${time.iso(run.started_at)}`,
      })),
  );
  const isComparable = charts.some((chart) => chart.body !== null && COMPARABLE_KINDS.has(chart.body.kind));
  if (!isComparable || (others.length === 0 && !before)) return null;
  return (
    <>
      <Select
        size="xs"
        w={300}
        aria-label={t("run.before")}
        placeholder={t("run.before")}
        title={t("run.beforeText")}
        data={others}
        value={before || null}
        onChange={(id) => onChange(id ?? "")}
        searchable
        clearable
        nothingFoundMessage={t("run.beforeNone")}
      />
      {before && (
        <PinButton
          small
          target={{ kind: "comparison", ref: { left: before, right: run.id, what: "runs" } }}
          view={`/runs/${run.id}${formatSearch({ before })}`}
          label={t("incidents.pin.comparison")}
        />
      )}
    </>
  );
}
