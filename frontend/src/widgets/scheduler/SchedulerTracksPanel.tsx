import { Button, Checkbox, SegmentedControl } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { X } from "lucide-react";
import { useMemo } from "react";
import { BlockSkeleton, Loaded } from "../../components/EmptyState";
import { arrowsOf, longestWakeups, rowsOf } from "../../core/charts/schedulerTracks";
import { count } from "../../core/text/format";
import type { Range } from "../../core/time/range";
import { get, keys } from "../../lib/queries";
import { useTranslation } from "../../lib/text/useTranslation";
import { choiceField, flagField, intField, rangeField, useUrlState } from "../../lib/urlState";
import type { SchedTracks } from "./api";
import classes from "./Scheduler.module.css";
import { SchedulerTracks } from "./SchedulerTracks";

const BY = ["cpu", "thread"] as const;
/** More arrows would cover the tracks. The details of the hovered segment include further wake-ups. */
const MAX_ARROWS = 100;

/** Query parameters: selected time, grouping of tracks, thread of the visible wake-ups, whether arrows are hidden. */
const FIELDS = {
  b: rangeField,
  by: choiceField<(typeof BY)[number]>(BY, "cpu"),
  wake: intField,
  noarrows: flagField,
};

interface Props {
  runId: string;
  /** Time range of the recording. */
  whole: Range;
  /** Selected part of it; undefined selects all of it. */
  range: Range | undefined;
  gutter: number;
}

/** Fetch and render the tracks of CPUs or threads in the selected time, at the width of the panel in pixels. */
export function SchedulerTracksPanel({ runId, whole, range: selected, gutter }: Props) {
  const { t } = useTranslation();
  const { ref, width } = useElementSize<HTMLDivElement>();
  const [state, set] = useUrlState(FIELDS);
  const range = selected ?? whole;
  const px = Math.max(200, Math.round((width - gutter) / 50) * 50);
  const query = useQuery({
    queryKey: [...keys.run(runId), "sched", "tracks", range, px, state.by, state.wake],
    queryFn: ({ signal }) =>
      get(
        `/runs/${runId}/sched/tracks`,
        {
          from_ns: Math.round(range.from),
          to_ns: Math.round(range.to),
          width: px,
          by: state.by,
          tid: state.wake,
        },
        signal,
      ),
    enabled: width > 0,
    placeholderData: keepPreviousData,
  });
  const data = query.data;
  const wakeups = useMemo(() => {
    if (state.noarrows || !data) return [];
    const drawable = arrowsOf(rowsOf(data), data.wakeups).map((arrow) => arrow.wakeup);
    return longestWakeups(drawable, MAX_ARROWS);
  }, [state.noarrows, data]);
  return (
    <div ref={ref}>
      <div className={classes.toolbar}>
        <SegmentedControl
          size="xs"
          aria-label={t("sched.by.label")}
          value={state.by}
          onChange={(by) => set({ by: by as (typeof BY)[number] })}
          data={BY.map((value) => ({ value, label: t(`sched.by.${value}`) }))}
        />
        <Checkbox
          size="xs"
          label={t("sched.wakeups")}
          checked={!state.noarrows}
          onChange={(event) => set({ noarrows: !event.currentTarget.checked })}
        />
        {query.data && !state.noarrows && (
          <WakeupCount visible={wakeups.length} all={query.data.wakeups_total} />
        )}
        {state.wake !== undefined && (
          <Button
            variant="default"
            size="compact-xs"
            rightSection={<X size={12} />}
            onClick={() => set({ wake: undefined }, { push: true })}
          >
            {t("sched.ofThread", { thread: threadName(query.data, state.wake) })}
          </Button>
        )}
        <span className={classes.spring} />
        {query.data && query.data.threads_total > query.data.threads.length && state.by === "thread" && (
          <span className="dim">
            {t("sched.rest", {
              visible: query.data.threads.length,
              all: count(query.data.threads_total),
            })}
          </span>
        )}
        {selected && (
          <Button variant="subtle" size="compact-xs" onClick={() => set({ b: undefined }, { push: true })}>
            {t("sched.allTime")}
          </Button>
        )}
      </div>
      <Loaded inPlace query={query} skeleton={<BlockSkeleton height={160} />}>
        {(tracks) => (
          <SchedulerTracks
            data={tracks}
            range={range}
            whole={whole}
            gutter={gutter}
            label={t("sched.tracks")}
            wakeups={wakeups}
            chosen={state.wake}
            onChoose={(wake) => set({ wake }, { push: true })}
            onRange={(next) =>
              set({ b: next.from <= whole.from && next.to >= whole.to ? undefined : next }, { push: true })
            }
          />
        )}
      </Loaded>
    </div>
  );
}

function WakeupCount({ visible, all }: { visible: number; all: number }) {
  const { t } = useTranslation();
  const values = { visible: count(visible), all: count(all) };
  return (
    <span className="dim" data-testid="wakeup-count">
      {all > visible ? t("sched.longestWakeups", values) : t("sched.allWakeups", values)}
    </span>
  );
}

function threadName(data: SchedTracks | undefined, tid: number): string {
  const task = data?.tasks.find((item) => item.tid === tid);
  return task ? `${task.task} ${tid}` : `${tid}`;
}
