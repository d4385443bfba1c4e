import { useId } from "react";
import type { Schedule } from "../../client/models";
import { computeStripSpan, listMidnights, stripX } from "../../core/time/dueStrip";
import { useTimeFormat } from "../../lib/text/useFormat";
import { useTranslation } from "../../lib/text/useTranslation";
import type { ScheduleFiring } from "./api";
import classes from "./schedules.module.css";

const HEIGHT = 22;
const MIDDLE = HEIGHT / 2;

interface Props {
  schedule: Schedule;
  width?: number;
}

/** Past due times by result and upcoming due times on a time axis. Each result has its own shape and color. */
export function ScheduleStrip({ schedule, width = 240 }: Props) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const id = useId();
  const now = Date.now();
  const past = schedule.recent.map((firing) => Date.parse(firing.due_at));
  const coming = schedule.upcoming.map((upcoming) => Date.parse(upcoming.at));
  const span = computeStripSpan(past, coming, now);
  const x = (at: number) => stripX(at, span, width);
  const firingText = (firing: ScheduleFiring) =>
    `${time.iso(firing.due_at)} ${t(`schedules.outcome.${firing.state}`)}${firing.count > 1 ? ` × ${firing.count}` : ""}`;
  const label = Object.entries(schedule.counts)
    .map(([state, count]) => `${t(`schedules.outcome.${state}` as "schedules.outcome.started")} ${count}`)
    .join(", ");
  return (
    <svg
      className={classes.strip}
      width={width}
      height={HEIGHT}
      viewBox={`0 0 ${width} ${HEIGHT}`}
      role="img"
      aria-label={label || t("schedules.neverDue")}
    >
      <pattern id={id} width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <rect width="2" height="5" className={classes.hatch} />
      </pattern>
      {listMidnights(span).map((at) => (
        <line key={at} x1={x(at)} x2={x(at)} y1={0} y2={HEIGHT} className={classes.day} />
      ))}
      <line x1={0} x2={width} y1={MIDDLE} y2={MIDDLE} className={classes.axis} />
      <line x1={x(now)} x2={x(now)} y1={0} y2={HEIGHT} className={classes.nowLine} />
      {schedule.recent
        .filter((firing) => Date.parse(firing.last_due_at) >= span.from)
        .map((firing) => (
          <g key={firing.id}>
            <title>{firingText(firing)}</title>
            <FiringResult firing={firing} x={x} hatch={id} />
          </g>
        ))}
      {schedule.upcoming.map((upcoming) => (
        <g key={upcoming.at}>
          <title>{`${time.iso(upcoming.at)} ${upcoming.window ? t("schedules.inMaintenance") : t("schedules.toCome")}`}</title>
          <circle
            cx={x(Date.parse(upcoming.at))}
            cy={MIDDLE}
            r={2.6}
            className={upcoming.window ? classes.heldMark : classes.comingMark}
          />
        </g>
      ))}
    </svg>
  );
}

function FiringResult({
  firing,
  x,
  hatch,
}: {
  firing: ScheduleFiring;
  x: (at: number) => number;
  hatch: string;
}) {
  const at = x(Date.parse(firing.due_at));
  if (firing.state === "started")
    return (
      <circle
        cx={at}
        cy={MIDDLE}
        r={3.4}
        className={firing.reason ? classes.lateMark : classes.startedMark}
      />
    );
  if (firing.state === "missed") {
    const wide = Math.max(5, x(Date.parse(firing.last_due_at)) - at);
    return (
      <rect
        x={at - 2}
        y={MIDDLE - 6}
        width={wide}
        height={12}
        fill={`url(#${hatch})`}
        className={classes.missedMark}
      />
    );
  }
  if (firing.state === "skipped")
    return <rect x={at - 3} y={MIDDLE - 3} width={6} height={6} className={classes.skippedMark} />;
  return <path d={`M${at - 3} ${MIDDLE - 3}l6 6m0-6l-6 6`} className={classes.refusedMark} />;
}
