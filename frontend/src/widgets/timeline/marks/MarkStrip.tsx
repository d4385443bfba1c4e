import { memo, useMemo } from "react";
import { clusterByPosition } from "../../../core/charts/tracks";
import { cx } from "../../../core/cx";
import { type Range, toX } from "../../../core/time/range";
import { useTimeFormat } from "../../../lib/text/useFormat";
import { useTranslation } from "../../../lib/text/useTranslation";
import tracks from "../Timeline.module.css";
import classes from "./Marks.module.css";

/** User action at a time: symptom, fix, verdict or note. */
export interface TimeMark {
  readonly id: string;
  readonly t_ns: number;
  readonly kind: "symptom" | "fix" | "note" | "verdict";
  readonly text: string;
  readonly onOpen?: () => void;
}

const SHAPES: Record<TimeMark["kind"], React.ReactNode> = {
  symptom: <path d="M6 .5 11.5 11H.5Z" />,
  fix: <path d="M6 0 12 6 6 12 0 6Z" />,
  verdict: <circle cx="6" cy="6" r="4.5" />,
  note: <path d="M1.5 2h9v6H6L3.5 10.6V8h-2Z" />,
};

interface Props {
  name: string;
  marks: readonly TimeMark[];
  range: Range;
  width: number;
}

/** Render user actions on the time axis of the timeline. */
export const MarkStrip = memo(function MarkStrip({ name, marks, range, width }: Props) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const groups = useMemo(() => {
    const inside = marks.filter((timeMark) => timeMark.t_ns >= range.from && timeMark.t_ns <= range.to);
    return clusterByPosition(inside, (timeMark) => toX(timeMark.t_ns, range, width), 14);
  }, [marks, range, width]);
  return (
    <div className={tracks.strip}>
      <div className={tracks.axisGutter}>
        <span className={tracks.stripName}>{name}</span>
      </div>
      <div className={tracks.stripPlot} style={{ width }}>
        {groups.map(({ x, things }) => {
          const first = things.find((timeMark) => timeMark.kind === "fix") ?? (things[0] as TimeMark);
          const text = things.map((timeMark) => `${time.time(timeMark.t_ns)} ${timeMark.text}`).join("\n");
          return (
            <button
              type="button"
              key={first.id}
              className={cx(classes.mark, classes[first.kind])}
              style={{ left: x }}
              title={text}
              aria-label={text}
              onClick={first.onOpen}
            >
              <svg width="12" height="12" viewBox="0 0 12 12" aria-hidden>
                {SHAPES[first.kind]}
              </svg>
              {things.length > 1 && <span className={classes.count}>{things.length}</span>}
            </button>
          );
        })}
        {groups.length === 0 && <span className={tracks.stripEmpty}>{t("timeline.noEvents")}</span>}
      </div>
    </div>
  );
});
