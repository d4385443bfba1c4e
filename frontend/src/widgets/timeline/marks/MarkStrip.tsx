import { memo, useMemo } from "react";
import { useTranslation } from "react-i18next";
import { cx } from "../../core/cx";
import { clusters } from "../../core/lanes";
import { type Range, toX } from "../../core/range";
import { useTimeFormat } from "../../lib/useFormat";
import classes from "./Marks.module.css";
import lanes from "./Timeline.module.css";

/** Something that people did or said at an instant: a fix, a verdict, a note. */
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

/** What people did, on the same axis as what was measured. */
export const MarkStrip = memo(function MarkStrip({ name, marks, range, width }: Props) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const groups = useMemo(() => {
    const inside = marks.filter((one) => one.t_ns >= range.from && one.t_ns <= range.to);
    return clusters(inside, (one) => toX(one.t_ns, range, width), 14);
  }, [marks, range, width]);
  return (
    <div className={lanes.strip}>
      <div className={lanes.axisGutter}>
        <span className={lanes.stripName}>{name}</span>
      </div>
      <div className={lanes.stripPlot} style={{ width }}>
        {groups.map(({ x, things }) => {
          const first = things.find((one) => one.kind === "fix") ?? (things[0] as TimeMark);
          const text = things.map((one) => `${time.time(one.t_ns)} ${one.text}`).join("\n");
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
        {groups.length === 0 && <span className={lanes.stripEmpty}>{t("timeline.noEvents")}</span>}
      </div>
    </div>
  );
});
