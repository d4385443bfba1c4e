import type { Lane } from "../../client/types";
import { labelText, type Points, type Row, splitMatrix } from "../../core/lanes";
import { INKS } from "../../core/ramp";
import type { UsualSpan } from "../../core/usual";
import type { Gaps } from "./draw";

/** So many lines are told apart in one row. */
const SHOWN = 6;

export interface Named {
  readonly name: string;
  readonly points: Points;
  readonly ink: string;
  readonly gaps: Gaps;
  readonly usual: readonly UsualSpan[];
}

/** The lines of a row, the largest first, each in its own ink; a heat map has none. */
export function toSeries(row: Row, lanes: readonly Lane[] | undefined, scheme: "dark" | "light"): Named[] {
  if (!lanes || row.kind === "heatmap") return [];
  const all = lanes.flatMap((lane) => {
    const label = labelText(lane.labels).replace(/(^|,)[^=,]+=/g, "$1");
    if (lane.points)
      return [
        { name: label, points: lane.points as Points, gaps: lane.gaps as Gaps, usual: lane.usual ?? [] },
      ];
    return splitMatrix(lane).map((one) => ({
      name: label ? `${label} ${one.name}` : one.name,
      points: one.points,
      gaps: lane.gaps as Gaps,
      usual: [],
    }));
  });
  const size = (points: Points) => points.max.reduce<number>((most, v) => Math.max(most, v ?? 0), 0);
  const inks = INKS[scheme];
  return all
    .map((one) => ({ ...one, size: size(one.points) }))
    .sort((a, b) => b.size - a.size || (a.name < b.name ? -1 : 1))
    .slice(0, SHOWN)
    .map(({ name, points, gaps, usual }, i) => ({
      name,
      points,
      gaps,
      usual,
      ink: inks[i % inks.length] as string,
    }));
}
