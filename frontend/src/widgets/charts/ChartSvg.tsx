import type { ReactNode } from "react";
import classes from "./charts.module.css";

interface Props {
  width: number;
  height: number;
  /** Accessible name. The numbers are in the table of the chart. */
  label: string;
  children: ReactNode;
}

/** Render the SVG element of a chart, which can contain links. Sizes are CSS pixels. */
export function ChartSvg({ width, height, label, children }: Props) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: an image cannot contain links, and a fieldset is for forms
    <svg width={width} height={height} className={classes.svg} role="group" aria-label={label}>
      {children}
    </svg>
  );
}
