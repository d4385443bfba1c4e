import { SERIES_COLORS } from "../../../core/charts/colorRamps";
import { labelText, type Points, splitMatrix, type TrackRow } from "../../../core/charts/tracks";
import type { TypicalSpan } from "../../../core/charts/typicalRange";
import type { Track } from "../api";
import type { Gaps } from "./draw";

/** Number of lines that a user can distinguish in a row. */
const MAX_LINES = 6;

export interface NamedSeries {
  readonly name: string;
  readonly points: Points;
  readonly ink: string;
  readonly gaps: Gaps;
  readonly typical: readonly TypicalSpan[];
}

/** Return at most MAX_LINES series of a row, largest maximum first, each with its own color. A heat map has none. */
export function toSeries(
  row: TrackRow,
  tracks: readonly Track[] | undefined,
  scheme: "dark" | "light",
): NamedSeries[] {
  if (!tracks || row.kind === "heatmap") return [];
  const all = tracks.flatMap((track) => {
    const label = labelText(track.labels).replace(/(^|,)[^=,]+=/g, "$1");
    if (track.points)
      return [
        {
          name: label,
          points: track.points as Points,
          gaps: track.gaps as Gaps,
          typical: track.typical ?? [],
        },
      ];
    return splitMatrix(track).map((item) => ({
      name: label ? `${label} ${item.name}` : item.name,
      points: item.points,
      gaps: track.gaps as Gaps,
      typical: [],
    }));
  });
  const size = (points: Points) => points.max.reduce<number>((most, v) => Math.max(most, v ?? 0), 0);
  const inks = SERIES_COLORS[scheme];
  return all
    .map((item) => ({ ...item, size: size(item.points) }))
    .sort((a, b) => b.size - a.size || (a.name < b.name ? -1 : 1))
    .slice(0, MAX_LINES)
    .map(({ name, points, gaps, typical }, i) => ({
      name,
      points,
      gaps,
      typical,
      ink: inks[i % inks.length] as string,
    }));
}
