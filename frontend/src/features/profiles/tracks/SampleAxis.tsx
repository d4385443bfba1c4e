import { useElementSize } from "@mantine/hooks";
import { useMemo } from "react";
import type { Profile } from "../../../client/models";
import type { FlameNode } from "../../../core/profiles/flame";
import { findWeightAt, listSampleTimes, listWeightTicks } from "../../../core/profiles/sampleAxis";
import { useTimeFormat } from "../../../lib/text/useFormat";
import { useTranslation } from "../../../lib/text/useTranslation";
import { weightText } from "../FrameDetails";
import classes from "./Axis.module.css";
import { AxisRow } from "./TimeAxis";

/** Distance between ticks of samples. */
const APART_PX = 110;

interface Props {
  tree: FlameNode;
  unit: Profile["unit"];
}

/** Axes above the boxes in the order of samples: the weight of the samples, and the times that they have. */
export function SampleAxis({ tree, unit }: Props) {
  const { t } = useTranslation();
  const time = useTimeFormat();
  const { ref, width } = useElementSize<HTMLDivElement>();
  const times = useMemo(() => listSampleTimes(tree), [tree]);
  const total = tree.value;
  const toPx = (weight: number) => (total > 0 ? (weight / total) * width : 0);
  const weights = listWeightTicks(total, width / APART_PX, unit).map((weight) => ({
    x: toPx(weight),
    text: `${weightText(weight, unit)}${unit === "samples" ? ` ${t("profile.samples")}` : ""}`,
  }));
  const { first_ns: first, last_ns: last } = tree;
  const instants =
    first === undefined || last === undefined
      ? []
      : [
          { x: 0, text: time.time(first, 1e6) },
          ...time
            .ticks(first, last, width)
            .map((tick) => ({ x: toPx(findWeightAt(times, tick.t)), text: tick.label })),
        ];
  return (
    <div className={classes.samples}>
      <div ref={ref}>
        {width > 0 && (
          <>
            <AxisRow labels={weights} width={width} testId="sample-axis" />
            {instants.length > 0 && <AxisRow labels={instants} width={width} testId="sample-times" />}
          </>
        )}
      </div>
    </div>
  );
}
