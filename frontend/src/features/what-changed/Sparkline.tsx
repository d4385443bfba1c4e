import { useTranslation } from "../../lib/text/useTranslation";
import classes from "./WhatChanged.module.css";

const WIDTH = 84;
const HEIGHT = 26;
const GAP = 8;

type Points = readonly (number | null)[];

/** Return an SVG path through values, scaled from `low` to `high` and starting at `left` px; nulls interrupt it. */
export function linePath(values: Points, low: number, high: number, left: number): string {
  const scale = high > low ? (HEIGHT - 2) / (high - low) : 0;
  const step = values.length > 1 ? WIDTH / (values.length - 1) : 0;
  let path = "";
  let pen = false;
  values.forEach((value, at) => {
    if (value === null) {
      pen = false;
      return;
    }
    const x = left + at * step;
    const y = HEIGHT - 1 - (value - low) * scale;
    path += `${pen ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
    // A single value is a short line, because a point has no length.
    if (!pen && (values[at + 1] ?? null) === null) path += `h${values.length > 1 ? 2 : WIDTH}`;
    pen = true;
  });
  return path;
}

/** Sparkline of both selections of a series, on a common scale that includes zero. */
export function Sparkline({ before, after }: { before: Points; after: Points }) {
  const { t } = useTranslation();
  const known = [...before, ...after].filter((value) => value !== null);
  const low = Math.min(0, ...known);
  const high = Math.max(0, ...known);
  return (
    <svg
      className={classes.spark}
      width={2 * WIDTH + GAP}
      height={HEIGHT}
      role="img"
      aria-label={t("whatChanged.courseText")}
    >
      <path className={classes.sparkBefore} d={linePath(before, low, high, 0)} />
      <path className={classes.sparkAfter} d={linePath(after, low, high, WIDTH + GAP)} />
      <line className={classes.sparkEdge} x1={WIDTH + GAP / 2} x2={WIDTH + GAP / 2} y1={0} y2={HEIGHT} />
    </svg>
  );
}
