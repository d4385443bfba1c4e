import { useElementSize } from "@mantine/hooks";
import { cx } from "../../core/cx";
import { useTimeFormat } from "../../lib/text/useFormat";
import { useTranslation } from "../../lib/text/useTranslation";
import type { Shift } from "./api";
import classes from "./oncall.module.css";

const DAY_MS = 86_400_000;
const BEHIND_MS = 2 * DAY_MS;
const AHEAD_MS = 28 * DAY_MS;
const HEIGHT = 46;
const BAR = 26;
/** Estimated width of a letter of a name, in px. */
const LETTER = 7;

/** Shifts of the first level on a time axis of the next four weeks; the current shift and overrides are highlighted. */
export function ShiftCalendar({ shifts, label }: { shifts: readonly Shift[]; label: string }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const { ref, width } = useElementSize<HTMLDivElement>();
  const now = Date.now();
  const from = now - BEHIND_MS;
  const to = now + AHEAD_MS;
  const x = (at: number) => ((at - from) / (to - from)) * width;
  const levels = [...new Set(shifts.map((shift) => shift.level))].sort((a, b) => a - b);
  const first = shifts.filter((shift) => shift.level === levels[0]);
  return (
    <div ref={ref}>
      <svg
        className={classes.weeks}
        role="img"
        aria-label={label}
        viewBox={`0 0 ${Math.max(width, 1)} ${HEIGHT}`}
      >
        {first.map((shift) => {
          const begin = Math.max(0, x(Date.parse(shift.start)));
          const end = Math.min(width, x(shift.end ? Date.parse(shift.end) : to));
          if (end <= begin) return null;
          const present = Date.parse(shift.start) <= now && (!shift.end || now < Date.parse(shift.end));
          const title = `${shift.who} · ${t(`oncall.sources.${shift.source}`)} · ${time.iso(shift.start)} – ${time.iso(shift.end)}`;
          return (
            <g key={`${shift.start} ${shift.who}`}>
              <title>{title}</title>
              <rect
                x={begin}
                y={2}
                width={end - begin}
                height={BAR}
                className={cx(
                  classes.shift,
                  present && classes.present,
                  shift.source === "override" && classes.override,
                )}
              />
              {shift.who.length * LETTER < end - begin && (
                <text x={begin + 5} y={19} className={classes.turnName}>
                  {shift.who}
                </text>
              )}
            </g>
          );
        })}
        {time.ticks(from * 1e6, to * 1e6, width, 90).map((tick) => (
          <text key={tick.t} x={x(tick.t / 1e6)} y={42} className={classes.tick}>
            {tick.label}
          </text>
        ))}
        <line x1={x(now)} x2={x(now)} y1={0} y2={BAR + 4} className={classes.nowLine} />
      </svg>
    </div>
  );
}
