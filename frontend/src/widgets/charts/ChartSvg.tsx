import type { ReactNode } from "react";
import classes from "./Visuals.module.css";

interface Props {
  width: number;
  height: number;
  /** Names the drawing for those who do not see it; its numbers stand in a table beside it. */
  label: string;
  children: ReactNode;
}

/** A drawing of a given size in CSS pixels, with links in it. */
export function Drawing({ width, height, label, children }: Props) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: an image could hold no links, and a fieldset is for forms
    <svg width={width} height={height} className={classes.svg} role="group" aria-label={label}>
      {children}
    </svg>
  );
}
