import { useElementSize } from "@mantine/hooks";
import type { AxisLabel } from "../../../core/profiles/sampleAxis";
import { dropOverlaps } from "../../../core/profiles/sampleAxis";
import { type Range, toX } from "../../../core/time/range";
import { useTimeFormat } from "../../../lib/text/useFormat";
import classes from "./Axis.module.css";

export const AXIS_PX = 16;
/** Width of a letter of the axis, rounded up. */
export const LETTER_PX = 7;

/** Times of day above the strip and the tracks of a profile. */
export function TimeAxis({ range }: { range: Range }) {
  const time = useTimeFormat();
  const { ref, width } = useElementSize<HTMLDivElement>();
  const labels = time
    .ticks(range.from, range.to, width)
    .map((tick) => ({ x: toX(tick.t, range, width), text: tick.label }));
  return (
    <div ref={ref}>
      <AxisRow labels={labels} width={width} testId="time-axis" />
    </div>
  );
}

/** One row of ticks. Screen readers get the same numbers from the graph, so the row is hidden from them. */
export function AxisRow(props: { labels: readonly AxisLabel[]; width: number; testId: string }) {
  return (
    <div className={classes.axis} aria-hidden data-testid={props.testId}>
      {dropOverlaps(props.labels, props.width, LETTER_PX).map(({ x, text }, at) => (
        <span key={at} style={{ transform: `translateX(${Math.round(x)}px)` }}>
          {text}
        </span>
      ))}
    </div>
  );
}
