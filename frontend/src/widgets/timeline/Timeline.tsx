import { Button, useComputedColorScheme } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { ChevronDown, ChevronRight } from "lucide-react";
import { type ReactNode, useCallback, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { BlockSkeleton, Empty, ErrorState } from "../../components/States";
import { duration } from "../../core/format";
import { applyChoice, buildGroups, choiceChanges, defaultRows, labelText, type Row } from "../../core/lanes";
import { NS_PER_S, padded, type Range } from "../../core/range";
import { usePick } from "../../lib/i18n";
import { useMetrics } from "../../lib/queries";
import { listField, useUrlState } from "../../lib/urlState";
import { useTimeFormat } from "../../lib/useFormat";
import { Axis, OverviewStrip } from "./Axis";
import { BrushBar } from "./BrushBar";
import { CitePopover } from "./CitePopover";
import { useCursorStore } from "./cursor";
import { LanePicker } from "./LanePicker";
import { LaneRow } from "./LaneRow";
import { MarkStrip, type TimeMark } from "./MarkStrip";
import { Overlay, type Picked } from "./Overlay";
import { CaptureStrip, EventStrip } from "./Strips";
import classes from "./Timeline.module.css";
import { useTimeKeys } from "./useTimeKeys";
import { useOverview, useTimelineData } from "./useTimelineData";
import { useTimeView } from "./useTimeView";

const FIELDS = { lanes: listField, fold: listField };
const GUTTER = 232;

interface Props {
  hostId: string;
  /** The range to begin with where the address names none. */
  initial?: Range;
  /** What to offer where the host has no past yet. */
  empty?: ReactNode;
  /** What people did meanwhile, under its name. */
  marks?: { name: string; items: readonly TimeMark[] };
}

/** All that is known of one host, on one clock: lanes, captures, events; one cursor, two brushes. */
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
    return <Empty title={t("timeline.empty")}>{empty ?? t("timeline.emptyText")}</Empty>;
  return (
    <Drawn
      hostId={hostId}
      overview={overview.data}
      metrics={metrics.data}
      {...(initial ? { initial } : {})}
      {...(marks ? { marks } : {})}
    />
  );
}

type DrawnProps = Pick<Props, "hostId" | "initial" | "marks"> & {
  overview: NonNullable<ReturnType<typeof useOverview>["data"]>;
  metrics: NonNullable<ReturnType<typeof useMetrics>["data"]>;
};

function Drawn({ hostId, overview, metrics, initial, marks }: DrawnProps) {
  const { t } = useTranslation();
  const pick = usePick();
  const time = useTimeFormat();
  const scheme = useComputedColorScheme("dark");
  const { ref, width: whole } = useElementSize<HTMLDivElement>();
  const width = Math.max(0, Math.floor(whole - (whole > 760 ? GUTTER : 0)));
  const { view, limit, brush, baseline, go, zoom, move, setUrl } = useTimeView(overview, initial);
  const [choice, setChoice] = useUrlState(FIELDS);
  const cursor = useCursorStore();
  const [picked, setPicked] = useState<Picked>();

  const groups = useMemo(() => buildGroups(overview.lanes, metrics), [overview.lanes, metrics]);
  const defaults = useMemo(() => defaultRows(groups), [groups]);
  const shown = useMemo(() => applyChoice(defaults, choice.lanes), [defaults, choice.lanes]);
  const folded = useMemo(() => new Set(choice.fold), [choice.fold]);
  const visible = useMemo(
    () =>
      groups
        .map((group) => ({ ...group, rows: group.rows.filter((row) => shown.has(row.key)) }))
        .filter((g) => g.rows.length > 0),
    [groups, shown],
  );
  const drawn = useMemo(
    () => visible.filter((g) => !folded.has(g.id)).flatMap((g) => g.rows),
    [visible, folded],
  );
  const { lines, heats, byRow } = useTimelineData(hostId, view, width, drawn);
  const ticks = useMemo(() => (view ? time.ticks(view.from, view.to, width) : []), [view, width, time]);
  const tickTimes = useMemo(() => ticks.map((tick) => tick.t), [ticks]);
  const known = useMemo(() => new Map(metrics.map((metric) => [metric.id, metric])), [metrics]);
  const title = useCallback(
    (row: Row) => {
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
      pick(metrics.find((one) => one.lane.group === id)?.lane.group_title) || t("timeline.group.other"),
    [t, metrics, pick],
  );
  const choose = useCallback(
    (next: ReadonlySet<string>) => setChoice({ lanes: choiceChanges(defaults, next) }),
    [setChoice, defaults],
  );
  const resetLanes = useCallback(() => setChoice({ lanes: [] }), [setChoice]);
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
    const run = overview.runs.find((one) => at >= one.from_ns && at <= one.to_ns);
    if (run) go(padded({ from: run.from_ns, to: run.to_ns }, 0.05, NS_PER_S));
  };
  const fold = (id: string) => {
    const next = new Set(folded);
    if (!next.delete(id)) next.add(id);
    setChoice({ fold: [...next] });
  };
  const blocks = lines.data?.captures ?? overview.runs;
  const row = picked && drawn.find((one) => one.key === picked.row);
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
        <LanePicker
          groups={groups}
          shown={shown}
          title={title}
          groupTitle={groupTitle}
          onChange={choose}
          onReset={resetLanes}
        />
      </div>
      {(brush || baseline) && view && (
        <BrushBar
          hostId={hostId}
          brush={brush}
          baseline={baseline}
          shown={view}
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
            <section className={classes.lanes} aria-label={t("timeline.lanesOf")}>
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
                    group.rows.map((one) => {
                      const slice = one.kind === "heatmap" ? heats : lines;
                      return (
                        <LaneRow
                          key={one.key}
                          row={one}
                          title={title(one)}
                          meaning={pick(known.get(one.metric)?.meaning)}
                          lanes={slice.data ? (byRow.get(one.key) ?? NONE) : undefined}
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
              <Overlay
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
        <CitePopover
          hostId={hostId}
          picked={picked}
          row={row}
          title={title(row)}
          lanes={byRow.get(row.key) ?? NONE}
          onClose={() => setPicked(undefined)}
        />
      )}
    </div>
  );
}

const NONE: never[] = [];
