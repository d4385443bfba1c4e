import type { ReactNode } from "react";
import classes from "./charts.module.css";

interface Props {
  width: number;
  height: number;
  /** Names the drawing for screen readers; its numbers are in the table next to it. */
  label: string;
  children: ReactNode;
}

/** A drawing of a given size in CSS pixels, with links in it. */
export function ChartSvg({ width, height, label, children }: Props) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: an image could hold no links, and a fieldset is for forms
    <svg width={width} height={height} className={classes.svg} role="group" aria-label={label}>
      {children}
    </svg>
  );
}
