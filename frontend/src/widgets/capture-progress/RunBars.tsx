import { useEffect, useRef, useState } from "react";
import type { Capture } from "../../client/models";
import { buildProgressBars, computeElapsed, computeStartOffset } from "../../core/charts/live";
import { formatDuration } from "../../core/text/format";
import { isActive } from "../../lib/queries";
import classes from "./RunBars.module.css";
import { RunRow } from "./RunRow";

/** Captures with more hosts than this have collapsed rows. */
const DENSE = 6;

/** Return the ticks of an axis of `total` seconds, at round numbers. */
export function secondTicks(total: number): number[] {
  const step = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600].find((s) => total / s <= 8) ?? 1200;
  return Array.from({ length: Math.floor(total / step) + 1 }, (_, i) => i * step);
}

interface Props {
  capture: Capture;
  /** Seconds since the last update of a run. */
  since: (runId: string, now?: number) => number;
  /** Collapse all rows; by default they are collapsed above DENSE hosts. */
  dense?: boolean;
}

/** Render a capture on an axis of seconds: a row for each host, a bar for each collector, updated while it runs. */
export function RunBars({ capture, since, dense }: Props) {
  const active = isActive(capture.state);
  const [, tick] = useState(0);
  const seen = useRef(new Map<string, number>());
  useEffect(() => {
    if (!active) return;
    const timer = setInterval(() => tick((n) => n + 1), capture.runs.length > 40 ? 1000 : 400);
    return () => clearInterval(timer);
  }, [active, capture.runs.length]);

  const created = Date.parse(capture.created_at);
  const now = performance.now();
  const rows = capture.runs.map((run) => {
    const age = isActive(run.state) ? since(run.id, now) : 0;
    return { run, bars: buildProgressBars(run, created, age, seen.current), age };
  });
  const ends = rows.flatMap(({ run, bars, age }) => [
    ...bars.map((bar) => Math.max(bar.to, bar.planned ?? 0)),
    (computeStartOffset(run, created) ?? 0) + computeElapsed(run, age),
  ]);
  const total = Math.max(5, active ? (capture.seconds ?? 0) + 2 : 0, ...ends) * 1.02;
  return (
    <>
      <div className={classes.axis} aria-hidden>
        <span />
        <span className={classes.axisPlot}>
          {secondTicks(total).map((s) => (
            <span key={s} className={classes.tick} style={{ left: `${(s / total) * 100}%` }}>
              {s === 0 ? "0" : formatDuration(s * 1e9)}
            </span>
          ))}
        </span>
        <span />
      </div>
      {rows.map(({ run, bars, age }) => (
        <RunRow
          key={run.id}
          run={run}
          bars={bars}
          total={total}
          now={
            run.state === "running"
              ? (computeStartOffset(run, created) ?? 0) + computeElapsed(run, age)
              : undefined
          }
          dense={dense ?? capture.runs.length > DENSE}
        />
      ))}
    </>
  );
}
