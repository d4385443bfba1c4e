import { useMemo, useRef } from "react";
import type { Tick } from "../../core/time/clock";
import { orderRange, type Range, spanOf, toTime, toX } from "../../core/time/range";
import { useTimeFormat } from "../../lib/text/useFormat";
import { useTranslation } from "../../lib/text/useTranslation";
import type { CaptureBlock } from "./api";
import classes from "./Timeline.module.css";

interface AxisProps {
  range: Range;
  width: number;
  ticks: readonly Tick[];
  onPan: (share: number) => void;
  onZoom: (factor: number, at: number) => void;
}

/** Render the time axis. Drag pans, the wheel zooms. */
export function Axis({ range, width, ticks, onPan, onZoom }: AxisProps) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const from = useRef<number | undefined>(undefined);
  return (
    <div className={classes.axisRow}>
      <div className={classes.axisGutter}>
        <span className="num">{time.instant(range.from).slice(0, 10)}</span>
        <span className={classes.zone}>{time.zoneName}</span>
      </div>
      <div
        className={classes.axis}
        style={{ width }}
        title={t("timeline.axisHint")}
        onPointerDown={(event) => {
          from.current = event.clientX;
          event.currentTarget.setPointerCapture(event.pointerId);
        }}
        onPointerMove={(event) => {
          if (from.current === undefined) return;
          onPan((from.current - event.clientX) / width);
          from.current = event.clientX;
        }}
        onPointerUp={() => {
          from.current = undefined;
        }}
        onWheel={(event) => {
          const box = event.currentTarget.getBoundingClientRect();
          onZoom(Math.exp(event.deltaY * 0.0022), toTime(event.clientX - box.left, range, width));
        }}
      >
        {ticks.map((tick) => (
          <span
            key={tick.t}
            className={tick.major ? classes.tickMajor : classes.tick}
            style={{ transform: `translateX(${Math.round(toX(tick.t, range, width))}px)` }}
          >
            {tick.label}
          </span>
        ))}
      </div>
    </div>
  );
}

interface OverviewProps {
  limit: Range;
  range: Range;
  width: number;
  runs: readonly CaptureBlock[];
  onGo: (range: Range) => void;
}

/** Render the full time range of the host with its captures; a rectangle marks the visible range. */
export function OverviewStrip({ limit, range, width, runs, onGo }: OverviewProps) {
  const { t } = useTranslation();
  const start = useRef<{ x: number; moved: boolean } | undefined>(undefined);
  const x0 = toX(range.from, limit, width);
  const x1 = toX(range.to, limit, width);
  const marks = useMemo(() => {
    const xs = new Set(runs.map((run) => Math.round(toX((run.from_ns + run.to_ns) / 2, limit, width))));
    return [...xs].map((x) => `M${x + 0.5} 6V14`).join("");
  }, [runs, limit, width]);
  return (
    <div className={classes.overviewRow}>
      <div className={classes.axisGutter}>
        <span className={classes.stripName}>{t("timeline.history")}</span>
      </div>
      <svg
        className={classes.overview}
        width={width}
        height={20}
        aria-hidden
        onPointerDown={(event) => {
          start.current = { x: event.nativeEvent.offsetX, moved: false };
          event.currentTarget.setPointerCapture(event.pointerId);
        }}
        onPointerMove={(event) => {
          const at = start.current;
          if (!at || Math.abs(event.nativeEvent.offsetX - at.x) < 4) return;
          at.moved = true;
          onGo(orderRange(toTime(at.x, limit, width), toTime(event.nativeEvent.offsetX, limit, width)));
        }}
        onPointerUp={(event) => {
          const at = start.current;
          start.current = undefined;
          if (!at || at.moved) return;
          const middle = toTime(event.nativeEvent.offsetX, limit, width);
          onGo({ from: middle - spanOf(range) / 2, to: middle + spanOf(range) / 2 });
        }}
      >
        <title>{t("timeline.historyHint")}</title>
        <path className={classes.overviewMarks} d={marks} />
        <rect className={classes.window} x={x0} y={0.5} width={Math.max(3, x1 - x0)} height={19} rx={1} />
      </svg>
    </div>
  );
}
