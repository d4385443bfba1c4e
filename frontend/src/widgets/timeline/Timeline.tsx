import { Button, useComputedColorScheme } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { ArrowDownWideNarrow, ChevronDown, ChevronRight } from "lucide-react";
import { type ReactNode, useCallback, useMemo, useState } from "react";
import type { RunState } from "../../client/models";
import { BlockSkeleton, EmptyState, ErrorLine, ErrorState } from "../../components/EmptyState";
import {
  applyRowChanges,
  buildGroups,
  defaultRows,
  diffRowChoice,
  labelText,
  type TrackRow,
} from "../../core/charts/tracks";
import { NS_PER_S, padRange, type Range } from "../../core/time/range";
import { isActive, useMetrics } from "../../lib/queries";
import { useLocalized } from "../../lib/text/i18n";
import { useTimeFormat } from "../../lib/text/useFormat";
import { useTranslation } from "../../lib/text/useTranslation";
import { flagField, listField, useUrlState } from "../../lib/urlState";
import { Axis, OverviewStrip } from "./Axis";
import type { CaptureBlock, TimelineOverview } from "./api";
import { BrushBar } from "./BrushBar";
import { BrushOverlay, type TimeSelection } from "./BrushOverlay";
import { CitationPopover } from "./CitationPopover";
import { listFinishedRuns } from "./changes/selections";
import { useChangeOrder } from "./changes/useChangeOrder";
import { useCursorStore } from "./cursor";
import { MarkStrip, type TimeMark } from "./marks/MarkStrip";
import { CaptureStrip, EventStrip } from "./marks/Strips";
import { RangeMenu } from "./RangeMenu";
import classes from "./Timeline.module.css";
import { TrackPicker } from "./tracks/TrackPicker";
import { TrackView } from "./tracks/TrackView";
import { useLiveRuns } from "./useLiveRuns";
import { useTimeKeys } from "./useTimeKeys";
import { useOverview, useTimelineData } from "./useTimelineData";
import { useTimeView } from "./useTimeView";

/** `changed` sorts the tracks by how much they differ between the baseline and the selection. */
const FIELDS = { tracks: listField, fold: listField, changed: flagField };
/** Room for a title, and the four statistics of a rate such as 16.5 MiB/s, which must never be cut. */
const GUTTER = 280;
/** Id of the group of tracks that are sorted by change, and its maximum number of tracks. */
const CHANGED = "changed";
const MAX_CHANGED = 40;

interface Props {
  hostId: string;
  /** Initial range if the URL has none. */
  initial?: Range;
  /** Content for a host without data. */
  empty?: ReactNode;
  /** User actions, and the name of their row. */
  marks?: { name: string; items: readonly TimeMark[] };
}

/** Render the timeline of a host: tracks, captures and events on a common clock, with a cursor and two brushes. */
export function Timeline({ hostId, initial, empty, marks }: Props) {
  const { t } = useTranslation();
  const overview = useOverview(hostId);
  const metrics = useMetrics();
  const live = useLiveRuns(hostId);
  const { data } = overview;
  const withLive = useMemo(() => data && addRuns(data, live), [data, live]);
  if (overview.error && !overview.data)
    return <ErrorState error={overview.error} retry={() => void overview.refetch()} />;
  if (metrics.error && !metrics.data)
    return <ErrorState error={metrics.error} retry={() => void metrics.refetch()} />;
  if (!withLive || !metrics.data) return <BlockSkeleton height={560} />;
  if (withLive.first_ns === null && data?.runs.length === 0)
    return <EmptyState title={t("timeline.empty")}>{empty ?? t("timeline.emptyText")}</EmptyState>;
  return (
    <LoadedTimeline
      hostId={hostId}
      overview={withLive}
      metrics={metrics.data}
      {...(initial ? { initial } : {})}
      {...(marks ? { marks } : {})}
    />
  );
}

/** Return the overview with the active runs added, which it does not contain until they are parsed. */
function addRuns(overview: TimelineOverview, live: readonly CaptureBlock[]): TimelineOverview {
  const known = new Set(overview.runs.map((run) => run.run_id));
  const added = live.filter((run) => !known.has(run.run_id));
  return added.length === 0 ? overview : { ...overview, runs: [...overview.runs, ...added] };
}

type LoadedTimelineProps = Pick<Props, "hostId" | "initial" | "marks"> & {
  overview: TimelineOverview;
  metrics: NonNullable<ReturnType<typeof useMetrics>["data"]>;
};

function LoadedTimeline({ hostId, overview, metrics, initial, marks }: LoadedTimelineProps) {
  const { t } = useTranslation();
  const localize = useLocalized();
  const time = useTimeFormat();
  const scheme = useComputedColorScheme("dark");
  const { ref, width: whole } = useElementSize<HTMLDivElement>();
  const width = Math.max(0, Math.floor(whole - (whole > 760 ? GUTTER : 0)));
  const { view, limit, brush, baseline, go, zoom, move, setUrl } = useTimeView(overview, initial);
  const [choice, setChoice] = useUrlState(FIELDS);
  const cursor = useCursorStore();
  const [picked, setPicked] = useState<TimeSelection>();

  const groups = useMemo(() => buildGroups(overview.tracks, metrics), [overview.tracks, metrics]);
  const defaults = useMemo(() => defaultRows(groups), [groups]);
  const selected = useMemo(() => applyRowChanges(defaults, choice.tracks), [defaults, choice.tracks]);
  const folded = useMemo(() => new Set(choice.fold), [choice.fold]);
  const order = useChangeOrder({
    hostId,
    runs: overview.runs,
    groups,
    brush,
    baseline,
    enabled: choice.changed,
  });
  const visible = useMemo(
    () =>
      choice.changed
        ? [{ id: CHANGED, rows: order.rows.slice(0, MAX_CHANGED) }]
        : groups
            .map((group) => ({ ...group, rows: group.rows.filter((row) => selected.has(row.key)) }))
            .filter((g) => g.rows.length > 0),
    [groups, selected, choice.changed, order.rows],
  );
  const visibleRows = useMemo(
    () => visible.filter((g) => !folded.has(g.id)).flatMap((g) => g.rows),
    [visible, folded],
  );
  const { lines, heats, byRow } = useTimelineData(hostId, view, width, visibleRows);
  const ticks = useMemo(() => (view ? time.ticks(view.from, view.to, width) : []), [view, width, time]);
  const tickTimes = useMemo(() => ticks.map((tick) => tick.t), [ticks]);
  const known = useMemo(() => new Map(metrics.map((metric) => [metric.id, metric])), [metrics]);
  const title = useCallback(
    (row: TrackRow) => {
      const name = localize(known.get(row.metric)?.title) || row.metric;
      return row.labels && Object.keys(row.labels).length > 0
        ? `${name} · ${labelText(row.labels)
            .replace(/(^|,)[^=,]+=/g, "$1 ")
            .trim()}`
        : name;
    },
    [known, localize],
  );
  const groupTitle = useCallback(
    (id: string) =>
      (id === CHANGED && t("timeline.changed.group")) ||
      localize(metrics.find((metric) => metric.track.group === id)?.track.group_title) ||
      t("timeline.group.other"),
    [t, metrics, localize],
  );
  const choose = useCallback(
    (next: ReadonlySet<string>) => setChoice({ tracks: diffRowChoice(defaults, next) }),
    [setChoice, defaults],
  );
  const resetTracks = useCallback(() => setChoice({ tracks: [] }), [setChoice]);
  const setBrush = useCallback((range: Range | undefined) => setUrl({ b: range }, { push: true }), [setUrl]);
  const setBaseline = useCallback(
    (range: Range | undefined) => setUrl({ c: range }, { push: true }),
    [setUrl],
  );
  useTimeKeys({
    view,
    limit,
    brush,
    baseline,
    runs: overview.runs,
    cursor,
    go,
    zoom,
    move,
    setBrush,
    setBaseline,
  });

  const enter = (at: number) => {
    if (brush && at >= brush.from && at <= brush.to) return go(padRange(brush, 0.02));
    const run = overview.runs.find((block) => at >= block.from_ns && at <= block.to_ns);
    if (run) go(padRange({ from: run.from_ns, to: run.to_ns }, 0.05, NS_PER_S));
  };
  const fold = (id: string) => {
    const next = new Set(folded);
    if (!next.delete(id)) next.add(id);
    setChoice({ fold: [...next] });
  };
  const blocks = useMemo(() => {
    const loaded = lines.data?.captures;
    return loaded
      ? [...loaded, ...overview.runs.filter((run) => isActive(run.state as RunState))]
      : overview.runs;
  }, [lines.data, overview.runs]);
  const row = picked && visibleRows.find((trackRow) => trackRow.key === picked.row);
  const [last] = listFinishedRuns(overview.runs);

  return (
    <div className={classes.timeline} ref={ref}>
      <div className={classes.toolbar}>
        <span className={classes.toolbarText}>
          {view && limit && <RangeMenu range={view} limit={limit} onGo={go} />}
        </span>
        <span className={classes.presets}>
          {last && (
            <Button
              variant="subtle"
              size="compact-xs"
              onClick={() => go(padRange({ from: last.from_ns, to: last.to_ns }, 0.08, NS_PER_S))}
            >
              {t("timeline.lastCapture")}
            </Button>
          )}
          {limit && (
            <Button variant="subtle" size="compact-xs" onClick={() => go(limit)}>
              {t("timeline.all")}
            </Button>
          )}
          <Button
            variant={choice.changed ? "light" : "subtle"}
            size="compact-xs"
            aria-pressed={choice.changed}
            title={t("timeline.changed.text")}
            leftSection={<ArrowDownWideNarrow size={14} />}
            onClick={() => setChoice({ changed: !choice.changed })}
          >
            {t("timeline.changed.sort")}
          </Button>
        </span>
        <TrackPicker
          groups={groups}
          selected={selected}
          title={title}
          groupTitle={groupTitle}
          onChange={choose}
          onReset={resetTracks}
        />
      </div>
      {(brush || baseline) && view && (
        <BrushBar
          hostId={hostId}
          brush={brush}
          baseline={baseline}
          visibleRange={view}
          runs={overview.runs}
          onClear={(which) => (which === "brush" ? setBrush(undefined) : setBaseline(undefined))}
          onZoomTo={(range) => go(padRange(range, 0.02))}
        />
      )}
      {view && limit && width > 0 ? (
        <>
          <div className={classes.head}>
            <OverviewStrip limit={limit} range={view} width={width} runs={overview.runs} onGo={go} />
            <CaptureStrip blocks={blocks} range={view} width={width} onGo={go} />
            <EventStrip events={lines.data?.events} range={view} width={width} />
            {marks && <MarkStrip name={marks.name} marks={marks.items} range={view} width={width} />}
            <Axis range={view} width={width} ticks={ticks} onPan={move} onZoom={zoom} />
          </div>
          {lines.error && !lines.data ? (
            <ErrorState error={lines.error} retry={() => void lines.refetch()} />
          ) : (
            <section className={classes.tracks} aria-label={t("timeline.tracksOf")}>
              {choice.changed && <ChangeNote {...order} />}
              {visible.map((group) => (
                <div key={group.id}>
                  <div className={classes.group}>
                    <button
                      type="button"
                      className={classes.groupButton}
                      onClick={() => fold(group.id)}
                      aria-expanded={!folded.has(group.id)}
                    >
                      {folded.has(group.id) ? <ChevronRight size={14} /> : <ChevronDown size={14} />}
                      {groupTitle(group.id)} <span className={classes.groupCount}>{group.rows.length}</span>
                    </button>
                  </div>
                  {!folded.has(group.id) &&
                    group.rows.map((trackRow) => {
                      const slice = trackRow.kind === "heatmap" ? heats : lines;
                      return (
                        <TrackView
                          key={trackRow.key}
                          row={trackRow}
                          title={title(trackRow)}
                          meaning={localize(known.get(trackRow.metric)?.meaning)}
                          tracks={slice.data ? (byRow.get(trackRow.key) ?? NONE) : undefined}
                          range={view}
                          width={width}
                          scheme={scheme}
                          ticks={tickTimes}
                          blocks={blocks}
                          cursor={cursor}
                          brush={brush}
                          baseline={baseline}
                          waiting={slice.isPlaceholderData || slice.isPending}
                        />
                      );
                    })}
                </div>
              ))}
              <BrushOverlay
                range={view}
                width={width}
                cursor={cursor}
                brush={brush}
                baseline={baseline}
                onBrush={setBrush}
                onBaseline={setBaseline}
                onZoom={zoom}
                onPan={move}
                onPick={setPicked}
                onEnter={enter}
              />
            </section>
          )}
        </>
      ) : (
        <BlockSkeleton height={480} />
      )}
      {picked && row && (
        <CitationPopover
          hostId={hostId}
          picked={picked}
          row={row}
          title={title(row)}
          tracks={byRow.get(row.key) ?? NONE}
          onClose={() => setPicked(undefined)}
        />
      )}
    </div>
  );
}

/** Render which ranges the order of the tracks compares, or why there is no order. */
function ChangeNote({ query, rows, before, after }: ReturnType<typeof useChangeOrder>) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const text = (range: Range) => `${time.instant(range.from)} – ${time.time(range.to, NS_PER_S)}`;
  if (query.error) return <ErrorLine error={query.error} />;
  if (!after || !before) return <p className={classes.changeNote}>{t("timeline.changed.nothing")}</p>;
  return (
    <p className={classes.changeNote}>
      {t("timeline.changed.compares", { before: text(before), after: text(after) })}
      {query.data && rows.length === 0 && ` ${t("timeline.changed.none")}`}
    </p>
  );
}

const NONE: never[] = [];
