import { Button, useComputedColorScheme } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { ChevronDown, ChevronRight } from "lucide-react";
import { type ReactNode, useCallback, useMemo, useState } from "react";
import { BlockSkeleton, EmptyState, ErrorState } from "../../components/EmptyState";
import {
  applyChoice,
  buildGroups,
  choiceChanges,
  defaultRows,
  labelText,
  type TrackRow,
} from "../../core/charts/tracks";
import { duration } from "../../core/text/format";
import { NS_PER_S, padded, type Range } from "../../core/time/range";
import { useMetrics } from "../../lib/queries";
import { useLocalized } from "../../lib/text/i18n";
import { useTimeFormat } from "../../lib/text/useFormat";
import { useTranslation } from "../../lib/text/useTranslation";
import { listField, useUrlState } from "../../lib/urlState";
import { Axis, OverviewStrip } from "./Axis";
import { BrushBar } from "./BrushBar";
import { BrushOverlay, type TimeSelection } from "./BrushOverlay";
import { CitationPopover } from "./CitationPopover";
import { useCursorStore } from "./cursor";
import { MarkStrip, type TimeMark } from "./marks/MarkStrip";
import { CaptureStrip, EventStrip } from "./marks/Strips";
import classes from "./Timeline.module.css";
import { TrackPicker } from "./tracks/TrackPicker";
import { TrackView } from "./tracks/TrackView";
import { useTimeKeys } from "./useTimeKeys";
import { useOverview, useTimelineData } from "./useTimelineData";
import { useTimeView } from "./useTimeView";

const FIELDS = { tracks: listField, fold: listField };
const GUTTER = 232;

interface Props {
  hostId: string;
  /** The range to begin with where the address names none. */
  initial?: Range;
  /** What to offer where the host has no past yet. */
  empty?: ReactNode;
  /** Actions of people at that time, under the name of their row. */
  marks?: { name: string; items: readonly TimeMark[] };
}

/** All that is known of one host, on one clock: tracks, captures, events; one cursor, two brushes. */
export function Timeline({ hostId, initial, empty, marks }: Props) {
  const { t } = useTranslation();
  const overview = useOverview(hostId);
  const metrics = useMetrics();
  if (overview.error && !overview.data)
    return <ErrorState error={overview.error} retry={() => void overview.refetch()} />;
  if (metrics.error && !metrics.data)
    return <ErrorState error={metrics.error} retry={() => void metrics.refetch()} />;
  if (!overview.data || !metrics.data) return <BlockSkeleton height={560} />;
  if (overview.data.first_ns === null && overview.data.runs.length === 0)
    return <EmptyState title={t("timeline.empty")}>{empty ?? t("timeline.emptyText")}</EmptyState>;
  return (
    <LoadedTimeline
      hostId={hostId}
      overview={overview.data}
      metrics={metrics.data}
      {...(initial ? { initial } : {})}
      {...(marks ? { marks } : {})}
    />
  );
}

type LoadedTimelineProps = Pick<Props, "hostId" | "initial" | "marks"> & {
  overview: NonNullable<ReturnType<typeof useOverview>["data"]>;
  metrics: NonNullable<ReturnType<typeof useMetrics>["data"]>;
};

function LoadedTimeline({ hostId, overview, metrics, initial, marks }: LoadedTimelineProps) {
  const { t } = useTranslation();
  const pick = useLocalized();
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
  const selected = useMemo(() => applyChoice(defaults, choice.tracks), [defaults, choice.tracks]);
  const folded = useMemo(() => new Set(choice.fold), [choice.fold]);
  const visible = useMemo(
    () =>
      groups
        .map((group) => ({ ...group, rows: group.rows.filter((row) => selected.has(row.key)) }))
        .filter((g) => g.rows.length > 0),
    [groups, selected],
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
      const name = pick(known.get(row.metric)?.title) || row.metric;
      return row.labels && Object.keys(row.labels).length > 0
        ? `${name} · ${labelText(row.labels)
            .replace(/(^|,)[^=,]+=/g, "$1 ")
            .trim()}`
        : name;
    },
    [known, pick],
  );
  const groupTitle = useCallback(
    (id: string) =>
      pick(metrics.find((metric) => metric.track.group === id)?.track.group_title) ||
      t("timeline.group.other"),
    [t, metrics, pick],
  );
  const choose = useCallback(
    (next: ReadonlySet<string>) => setChoice({ tracks: choiceChanges(defaults, next) }),
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
    if (brush && at >= brush.from && at <= brush.to) return go(padded(brush, 0.02));
    const run = overview.runs.find((block) => at >= block.from_ns && at <= block.to_ns);
    if (run) go(padded({ from: run.from_ns, to: run.to_ns }, 0.05, NS_PER_S));
  };
  const fold = (id: string) => {
    const next = new Set(folded);
    if (!next.delete(id)) next.add(id);
    setChoice({ fold: [...next] });
  };
  const blocks = lines.data?.captures ?? overview.runs;
  const row = picked && visibleRows.find((trackRow) => trackRow.key === picked.row);
  const last = overview.runs.reduce((a, b) => (a && a.to_ns >= b.to_ns ? a : b), overview.runs[0]);
  const preset = (span_s: number) => {
    if (limit) go({ from: limit.to - span_s * NS_PER_S, to: limit.to });
  };

  return (
    <div className={classes.timeline} ref={ref}>
      <div className={classes.toolbar}>
        <span className={classes.toolbarText}>
          {view && (
            <>
              <span className="num">
                {time.instant(view.from)} – {time.instant(view.to)}
              </span>{" "}
              {time.zoneName} · <span className="num">{duration(view.to - view.from)}</span>
            </>
          )}
        </span>
        <span className={classes.presets}>
          {last && (
            <Button
              variant="subtle"
              size="compact-xs"
              onClick={() => go(padded({ from: last.from_ns, to: last.to_ns }, 0.08, NS_PER_S))}
            >
              {t("timeline.lastCapture")}
            </Button>
          )}
          {(
            [
              ["1h", 3600],
              ["1d", 86400],
              ["30d", 30 * 86400],
            ] as const
          ).map(([name, seconds]) => (
            <Button key={name} variant="subtle" size="compact-xs" onClick={() => preset(seconds)}>
              {t(`timeline.preset.${name}`)}
            </Button>
          ))}
          {limit && (
            <Button variant="subtle" size="compact-xs" onClick={() => go(limit)}>
              {t("timeline.all")}
            </Button>
          )}
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
          onZoomTo={(range) => go(padded(range, 0.02))}
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
                          meaning={pick(known.get(trackRow.metric)?.meaning)}
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

const NONE: never[] = [];
