import { Button, Checkbox, SegmentedControl } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { X } from "lucide-react";
import { useMemo } from "react";
import { BlockSkeleton, QueryContent } from "../../components/EmptyState";
import { listSchedulerRows, listWakeupArrows, longestWakeups } from "../../core/charts/schedulerTracks";
import { formatCount } from "../../core/text/format";
import type { Range } from "../../core/time/range";
import { get, queryKeys } from "../../lib/queries";
import { useTranslation } from "../../lib/text/useTranslation";
import { choiceField, flagField, rangeField, useUrlState } from "../../lib/urlState";
import type { SchedTracks } from "./api";
import classes from "./Scheduler.module.css";
import { SchedulerTracks } from "./SchedulerTracks";

const GROUPINGS = ["cpu", "thread"] as const;
/** More arrows would cover the tracks. The details of the hovered segment include further wake-ups. */
const MAX_ARROWS = 100;
const MAX_PX = 400;
/** Maximum height between other charts, below which a flame graph follows. */
const MAX_PX_BETWEEN = 180;

/** Query parameters: selected time, grouping of tracks, whether arrows are hidden, whether a selection is enlarged. */
const FIELDS = {
  b: rangeField,
  by: choiceField<(typeof GROUPINGS)[number]>(GROUPINGS, "cpu"),
  noarrows: flagField,
  zoom: flagField,
};

interface Props {
  runId: string;
  /** One of several recordings of the run. */
  profileId?: string | undefined;
  /** Time range of the recording. */
  whole: Range;
  /** Selected part of it; undefined selects all of it. */
  range: Range | undefined;
  /** Time axis of other charts, on which the selection is marked. Without it, the tracks display only the selection. */
  axis?: Range;
  gutter: number;
  /** Thread of the visible wake-ups. */
  chosen: number | undefined;
  onChoose(tid: number | undefined): void;
}

/** Fetch and render the tracks of CPUs or threads in the selected time, at the width of the panel in pixels. */
export function SchedulerTracksPanel(props: Props) {
  const { runId, profileId, whole, range: selected, axis, gutter, chosen, onChoose } = props;
  const { t } = useTranslation();
  const { ref, width } = useElementSize<HTMLDivElement>();
  const [state, set] = useUrlState(FIELDS);
  const isMarked = axis !== undefined && !state.zoom;
  const range = isMarked ? axis : (selected ?? whole);
  const px = Math.max(200, Math.round((width - gutter) / 50) * 50);
  const query = useQuery({
    queryKey: [...queryKeys.run(runId), "sched", "tracks", profileId, range, px, state.by, chosen],
    queryFn: ({ signal }) =>
      get(
        `/runs/${runId}/sched/tracks`,
        {
          profile: profileId,
          from_ns: Math.round(range.from),
          to_ns: Math.round(range.to),
          width: px,
          by: state.by,
          tid: chosen,
        },
        signal,
      ),
    enabled: width > 0,
    placeholderData: keepPreviousData,
  });
  const data = query.data;
  const wakeups = useMemo(() => {
    if (state.noarrows || !data) return [];
    const drawable = listWakeupArrows(listSchedulerRows(data), data.wakeups).map((arrow) => arrow.wakeup);
    return longestWakeups(drawable, MAX_ARROWS);
  }, [state.noarrows, data]);
  return (
    <div ref={ref}>
      <div className={classes.toolbar}>
        <SegmentedControl
          size="xs"
          aria-label={t("sched.by.label")}
          value={state.by}
          onChange={(by) => set({ by: by as (typeof GROUPINGS)[number] })}
          data={GROUPINGS.map((value) => ({ value, label: t(`sched.by.${value}`) }))}
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
        {axis && selected && (
          <Checkbox
            size="xs"
            label={t("sched.zoom")}
            checked={state.zoom}
            onChange={(event) => set({ zoom: event.currentTarget.checked })}
          />
        )}
        {chosen !== undefined && (
          <Button
            variant="default"
            size="compact-xs"
            rightSection={<X size={12} />}
            onClick={() => onChoose(undefined)}
          >
            {t("sched.ofThread", { thread: threadName(query.data, chosen) })}
          </Button>
        )}
        <span className={classes.spacer} />
        {query.data && query.data.threads_total > query.data.threads.length && state.by === "thread" && (
          <span className="dim">
            {t("sched.rest", {
              visible: query.data.threads.length,
              all: formatCount(query.data.threads_total),
            })}
          </span>
        )}
        {selected && (
          <Button variant="subtle" size="compact-xs" onClick={() => set({ b: undefined }, { push: true })}>
            {t("sched.allTime")}
          </Button>
        )}
      </div>
      <QueryContent inPlace query={query} skeleton={<BlockSkeleton height={160} />}>
        {(tracks) => (
          <SchedulerTracks
            data={tracks}
            range={range}
            whole={axis ?? whole}
            brush={isMarked ? selected : undefined}
            gutter={gutter}
            maxHeight={axis ? MAX_PX_BETWEEN : MAX_PX}
            label={t("sched.tracks")}
            wakeups={wakeups}
            chosen={chosen}
            onChoose={onChoose}
            onRange={(next) =>
              set({ b: coversRange(next, axis ?? whole) ? undefined : next }, { push: true })
            }
          />
        )}
      </QueryContent>
    </div>
  );
}

const coversRange = (range: Range, whole: Range): boolean => range.from <= whole.from && range.to >= whole.to;

function WakeupCount({ visible, all }: { visible: number; all: number }) {
  const { t } = useTranslation();
  const values = { visible: formatCount(visible), all: formatCount(all) };
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
