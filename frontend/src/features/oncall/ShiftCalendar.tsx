import { useElementSize } from "@mantine/hooks";
import { useTranslation } from "react-i18next";
import type { Turn } from "../../client/schedules";
import { cx } from "../../core/cx";
import { useTimeFormat } from "../../lib/useFormat";
import classes from "./oncall.module.css";

const DAY_MS = 86_400_000;
const BEHIND_MS = 2 * DAY_MS;
const AHEAD_MS = 28 * DAY_MS;
const HEIGHT = 46;
const BAR = 26;
/** A name needs so many pixels for each of its letters. */
const LETTER = 7;

/** Four weeks of turns on one axis of time; who is on call now is marked, overrides are coloured. */
export function Weeks({ turns, label }: { turns: readonly Turn[]; label: string }) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const { ref, width } = useElementSize<HTMLDivElement>();
  const now = Date.now();
  const from = now - BEHIND_MS;
  const to = now + AHEAD_MS;
  const x = (at: number) => ((at - from) / (to - from)) * width;
  const levels = [...new Set(turns.map((one) => one.level))].sort((a, b) => a - b);
  const first = turns.filter((one) => one.level === levels[0]);
  return (
    <div ref={ref}>
      <svg
        className={classes.weeks}
        role="img"
        aria-label={label}
        viewBox={`0 0 ${Math.max(width, 1)} ${HEIGHT}`}
      >
        {first.map((one) => {
          const begin = Math.max(0, x(Date.parse(one.start)));
          const end = Math.min(width, x(one.end ? Date.parse(one.end) : to));
          if (end <= begin) return null;
          const present = Date.parse(one.start) <= now && (!one.end || now < Date.parse(one.end));
          const told = `${one.who} · ${t(`oncall.how.${one.how}`)} · ${time.iso(one.start)} – ${time.iso(one.end)}`;
          return (
            <g key={`${one.start} ${one.who}`}>
              <title>{told}</title>
              <rect
                x={begin}
                y={2}
                width={end - begin}
                height={BAR}
                className={cx(
                  classes.turn,
                  present && classes.present,
                  one.how === "override" && classes.over,
                )}
              />
              {one.who.length * LETTER < end - begin && (
                <text x={begin + 5} y={19} className={classes.turnName}>
                  {one.who}
                </text>
              )}
            </g>
          );
        })}
        {time.ticks(from * 1e6, to * 1e6, width, 90).map((one) => (
          <text key={one.t} x={x(one.t / 1e6)} y={42} className={classes.tick}>
            {one.label}
          </text>
        ))}
        <line x1={x(now)} x2={x(now)} y1={0} y2={BAR + 4} className={classes.nowLine} />
      </svg>
    </div>
  );
}
