import { useComputedColorScheme } from "@mantine/core";
import { useElementSize } from "@mantine/hooks";
import { type KeyboardEvent, type PointerEvent, useEffect, useMemo, useRef, useState } from "react";
import {
  findSegmentAt,
  findWakeup,
  listSchedulerRows,
  listWakeupArrows,
  type SchedulerRow,
  type SchedulerTracksData,
  type Wakeup,
} from "../../core/charts/schedulerTracks";
import { cx } from "../../core/cx";
import { formatDuration } from "../../core/text/format";
import { orderRange, panRange, type Range, spanOf, toTime, toX, zoomRange } from "../../core/time/range";
import { useTimeFormat } from "../../lib/text/useFormat";
import { type Translate, useTranslation } from "../../lib/text/useTranslation";
import { paintArrows, paintRows, rowHeight } from "./draw";
import classes from "./Scheduler.module.css";

interface Props {
  data: SchedulerTracksData;
  range: Range;
  /** Limit of a selection. */
  whole: Range;
  /** Selected part of `range`; undefined if the range is the selection. */
  brush?: Range | undefined;
  label: string;
  /** Width of the row names in px, the same for all charts on this time axis. */
  gutter: number;
  /** Height in px above which the tracks scroll. */
  maxHeight: number;
  /** Wake-ups that are rendered as arrows. */
  wakeups: readonly Wakeup[];
  /** Id of the thread whose wake-ups are visible. */
  chosen: number | undefined;
  onRange(range: Range): void;
  onChoose(tid: number | undefined): void;
}

const CLICK_PX = 3;

/** Render one track per CPU or thread. Drag and W/S zoom, A/D pan, a click selects a thread. */
export function SchedulerTracks(props: Props) {
  const {
    data,
    range,
    whole,
    brush: selected,
    label,
    gutter,
    maxHeight,
    wakeups,
    chosen,
    onRange,
    onChoose,
  } = props;
  const { t } = useTranslation();
  const { ref, width } = useElementSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const scheme = useComputedColorScheme("dark");
  const time = useTimeFormat();
  const [drag, setDrag] = useState<{ from: number; to: number } | null>(null);
  const [hover, setHover] = useState("");
  const rows = useMemo(() => listSchedulerRows(data), [data]);
  const arrows = useMemo(() => listWakeupArrows(rows, wakeups), [rows, wakeups]);
  const inner = Math.max(1, width - gutter);
  const rowPx = rowHeight(rows.length);
  const height = rows.length * rowPx;

  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context || width < 1) return;
    const ratio = window.devicePixelRatio || 1;
    element.width = Math.round(inner * ratio);
    element.height = Math.round(height * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, inner, height);
    const surface = { context, range, width: inner, rowPx, dark: scheme === "dark" };
    paintRows(surface, data, rows);
    paintArrows(surface, data.t0_ns, arrows);
  }, [data, rows, arrows, range, inner, rowPx, height, width, scheme]);

  const at = (event: PointerEvent) => {
    const box = event.currentTarget.getBoundingClientRect();
    return { t: toTime(event.clientX - box.left, range, inner), y: event.clientY - box.top };
  };
  const pixel = spanOf(range) / inner;
  const hit = (here: { t: number; y: number }) => {
    const row = rows[Math.floor(here.y / rowPx)];
    const offset = here.t - data.t0_ns;
    const segment = row && findSegmentAt(row.segments, offset, pixel);
    const task = row?.task ?? (segment ? segment[2] : undefined);
    const wait = row && !segment ? findSegmentAt(row.waits, offset, pixel) : undefined;
    return { row, segment, wait, task };
  };
  const onPointerMove = (event: PointerEvent) => {
    const here = at(event);
    if (drag) setDrag({ ...drag, to: here.t });
    else setHover(describeSegment(t, data, hit(here), time.time(here.t, 1e3)));
  };
  const onPointerUp = (event: PointerEvent) => {
    if (!drag) return;
    const next = orderRange(drag.from, drag.to);
    setDrag(null);
    if (spanOf(next) > CLICK_PX * pixel) {
      onRange(next);
      return;
    }
    const { task } = hit(at(event));
    const tid = task === undefined ? undefined : data.tasks[task]?.tid;
    onChoose(tid === chosen ? undefined : tid);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const from = selected ?? range;
    const middle = (from.from + from.to) / 2;
    const next = {
      w: () => zoomRange(from, middle, 0.5, whole),
      s: () => zoomRange(from, middle, 2, whole),
      a: () => panRange(from, -0.25, whole),
      d: () => panRange(from, 0.25, whole),
      Escape: () => whole,
    }[event.key];
    if (!next || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    onRange(next());
  };
  const brush = drag ? orderRange(drag.from, drag.to) : selected;
  return (
    <div className={classes.tracks}>
      <div ref={ref} className={classes.scroll} style={{ maxHeight }}>
        <div className={classes.gutter} style={{ width: gutter }} data-testid="scheduler-names">
          {rows.map((row) => (
            <RowName key={row.key} row={row} height={rowPx} data={data} chosen={chosen} onChoose={onChoose} />
          ))}
        </div>
        {/* biome-ignore lint/a11y/useSemanticElements: no HTML element fits a chart with keyboard control */}
        <div
          className={classes.surface}
          style={{ width: inner, height }}
          role="group"
          aria-label={label}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: keys zoom and pan the chart
          tabIndex={0}
          onPointerDown={(event) => {
            if (event.button !== 0) return;
            event.currentTarget.setPointerCapture(event.pointerId);
            const { t: start } = at(event);
            setDrag({ from: start, to: start });
          }}
          onPointerMove={onPointerMove}
          onPointerUp={onPointerUp}
          onPointerLeave={() => setHover("")}
          onDoubleClick={() => onRange(whole)}
          onKeyDown={onKeyDown}
          data-testid="scheduler-tracks"
          data-arrows={arrows.length}
        >
          <canvas ref={canvas} style={{ width: inner, height }} aria-hidden />
          {brush && <div className={classes.brush} style={boxOf(brush, range, inner)} />}
        </div>
      </div>
      <div className={classes.detail}>
        <span className="mono">
          {hover || t(data.threads.length > 0 ? "sched.threadHint" : "sched.hint")}
        </span>
        <span className="num dim" data-testid="scheduler-time">
          {time.time(range.from, 1e6)} + {formatDuration(spanOf(range))}
        </span>
      </div>
    </div>
  );
}

/** Return the position of the visible part of a selection in px. */
function boxOf(brush: Range, range: Range, width: number) {
  const left = Math.max(0, toX(brush.from, range, width));
  return { left, width: Math.max(1, Math.min(width, toX(brush.to, range, width)) - left) };
}

function RowName(props: {
  row: SchedulerRow;
  height: number;
  data: SchedulerTracksData;
  chosen: number | undefined;
  onChoose(tid: number | undefined): void;
}) {
  const { row, height, data, chosen, onChoose } = props;
  const tid = row.task === undefined ? undefined : data.tasks[row.task]?.tid;
  if (tid === undefined)
    return (
      <div className={classes.rowName} style={{ height, lineHeight: `${height}px` }}>
        {row.label}
      </div>
    );
  return (
    <button
      type="button"
      className={cx(classes.rowName, tid === chosen && classes.chosen)}
      style={{ height, lineHeight: `${height}px` }}
      title={row.label}
      aria-pressed={tid === chosen}
      onClick={() => onChoose(tid === chosen ? undefined : tid)}
    >
      {row.label}
    </button>
  );
}

interface Hit {
  row: SchedulerRow | undefined;
  segment: readonly number[] | undefined;
  wait: readonly number[] | undefined;
  task: number | undefined;
}

const PREEMPTED = 2;

/** Return a one-line text of the segment under the pointer: thread, time, CPU, duration and waker. */
function describeSegment(t: Translate, data: SchedulerTracksData, hit: Hit, when: string): string {
  const { row, segment, wait, task } = hit;
  if (!row) return "";
  const who = task === undefined ? "" : nameOf(data, task);
  if (!segment && !wait) return [row.task === undefined ? row.label : who, when].join(" · ");
  const [offset = 0, length = 0, index = 0, joined = 1] = segment ?? wait ?? [];
  const state = segment
    ? t("sched.ranOn", { cpu: row.cpu ?? index, time: formatDuration(length) })
    : t(index === PREEMPTED ? "sched.preempted" : "sched.waited", { time: formatDuration(length) });
  const wakeup =
    segment && task !== undefined && joined <= 1 ? findWakeup(data.wakeups, task, offset) : undefined;
  return [
    who,
    when,
    state,
    joined > 1 ? t("sched.mergedSegments", { count: joined }) : "",
    wakeup ? wakeupText(t, data, wakeup) : "",
  ]
    .filter(Boolean)
    .join(" · ");
}

function wakeupText(t: Translate, data: SchedulerTracksData, wakeup: Wakeup): string {
  const values = {
    waker: wakeup.waker === null ? t("sched.idle") : nameOf(data, wakeup.waker),
    cpu: wakeup.from_cpu,
    time: formatDuration(wakeup.delay_ns),
  };
  if (wakeup.context === "hard_interrupt") return t("sched.wokenByInterrupt", values);
  if (wakeup.context === "soft_interrupt") return t("sched.wokenBySoftInterrupt", values);
  return t("sched.wokenBy", values);
}

const nameOf = (data: SchedulerTracksData, task: number): string => {
  const thread = data.tasks[task];
  return thread ? `${thread.task} ${thread.tid}` : "";
};
