import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { BlockSkeleton, QueryContent } from "../../components/EmptyState";
import { Panel } from "../../components/Page";
import { StatusIcon } from "../../components/StatusIcon";
import { formatCount, formatMilliseconds, formatPercent } from "../../core/text/format";
import { type Range, rangesOverlap } from "../../core/time/range";
import { get, queryKeys } from "../../lib/queries";
import { useTranslation } from "../../lib/text/useTranslation";
import { intField, rangeField, textField, useUrlState } from "../../lib/urlState";
import { useSelectionKeys } from "../../lib/useSelectionKeys";
import { MetricTracks } from "../timeline/MetricTracks";
import type { Sched } from "./api";
import { DelayHistogram } from "./DelayHistogram";
import classes from "./Scheduler.module.css";
import { SchedulerTracksPanel } from "./SchedulerTracksPanel";
import { TasksTable } from "./TasksTable";

const HIGH_LOST_SHARE = 0.01;

/** Width of the row names to the left of the shared time axis. */
const GUTTER_PX = 156;

/** Query parameters: selected time, thread of the visible wake-ups, search in the table of threads. */
const FIELDS = { b: rangeField, wake: intField, task: textField };

interface Props {
  runId: string;
  /** One of several recordings of the run. */
  profileId?: string;
  hostId: string | undefined;
  /** Whether keys of the time selection work on the whole page, not only in the tracks. */
  hasKeys?: boolean;
}

/** Render scheduling in the selected time: tracks, metrics, run and wait times of threads, and wake-ups. */
export function SchedulerPanel({ runId, profileId, hostId, hasKeys = false }: Props) {
  const { t } = useTranslation();
  const [state, set] = useUrlState(FIELDS);
  const query = useScheduler(runId, profileId, undefined);
  const sched = query.data;
  const whole = sched && { from: sched.t0_ns, to: sched.t1_ns + 1 };
  // The brush of another chart on the page can be outside of the recording.
  const range = state.b && whole && rangesOverlap(state.b, whole) ? state.b : undefined;
  const selected = useScheduler(runId, profileId, range);
  useSelectionKeys({
    whole: hasKeys ? whole : undefined,
    brush: range,
    onBrush: (b) => set({ b }),
    onEscape: () => {
      if (!hasKeys) return;
      if (state.wake !== undefined) set({ wake: undefined }, { push: true });
      else if (state.b) set({ b: undefined }, { push: true });
    },
  });
  return (
    <Panel title={t("sched.title")} flush headerExtra={sched && <RecordingQuality sched={sched} />}>
      <QueryContent query={query} skeleton={<BlockSkeleton height={360} />}>
        {() =>
          whole && (
            <>
              <SchedulerTracksPanel
                runId={runId}
                profileId={profileId}
                whole={whole}
                range={range}
                gutter={GUTTER_PX}
                chosen={state.wake}
                onChoose={(wake) => set({ wake }, { push: true })}
              />
              {hostId && (
                <MetricTracks
                  hostId={hostId}
                  range={whole}
                  brush={range}
                  gutter={GUTTER_PX}
                  onBrush={(b) => set({ b }, { push: true })}
                  onBaseline={(b) => set({ b }, { push: true })}
                />
              )}
              <QueryContent inPlace query={range ? selected : query}>
                {(data) => (
                  <div className={classes.sched}>
                    <TasksTable
                      data={data}
                      isSelection={range !== undefined}
                      search={state.task}
                      onSearch={(task) => set({ task })}
                      chosen={state.wake}
                      onChoose={(wake) => set({ wake }, { push: true })}
                    />
                    <DelayHistogram
                      edgesUs={data.histogram.edges_us}
                      counts={data.histogram.counts}
                      label={t("sched.histogram")}
                    />
                  </div>
                )}
              </QueryContent>
            </>
          )
        }
      </QueryContent>
    </Panel>
  );
}

function useScheduler(runId: string, profileId: string | undefined, range: Range | undefined) {
  return useQuery({
    queryKey: [...queryKeys.run(runId), "sched", profileId, range],
    queryFn: ({ signal }) =>
      get(
        `/runs/${runId}/sched`,
        {
          profile: profileId,
          ...(range ? { from_ns: Math.round(range.from), to_ns: Math.round(range.to) } : {}),
        },
        signal,
      ),
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: range ? keepPreviousData : undefined,
  });
}

function RecordingQuality({ sched }: { sched: Sched }) {
  const { t } = useTranslation();
  const check = sched.checked_against;
  return (
    <>
      <span className="num">{formatMilliseconds(sched.duration_ms)}</span>
      <StatusIcon tone={sched.lost_share > HIGH_LOST_SHARE ? "warn" : "ok"}>
        {t("sched.lost", { count: sched.lost, share: formatPercent(sched.lost_share) })}
      </StatusIcon>
      {check && (
        <StatusIcon tone={check.switches === check.parsed_switches ? "ok" : "warn"}>
          {t("sched.checked", {
            parsed: formatCount(check.parsed_switches),
            perf: formatCount(check.switches),
          })}
        </StatusIcon>
      )}
    </>
  );
}
