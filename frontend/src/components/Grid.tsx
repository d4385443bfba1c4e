import type { ReactNode } from "react";
import { cx } from "../core/cx";
import classes from "./Grid.module.css";

interface GridProps {
  /** Says what the rows are, to those who do not see the table. */
  label: string;
  children: ReactNode;
  /** Scrolls inside itself above this height. */
  maxHeight?: number | string;
}

/** A dense table with a head that stays. Wide tables scroll sideways inside themselves. */
export function Grid({ label, children, maxHeight }: GridProps) {
  return (
    <section
      className={classes.scroll}
      style={maxHeight ? { maxHeight } : undefined}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
      tabIndex={0}
      aria-label={label}
    >
      <table className={classes.table}>{children}</table>
    </section>
  );
}

/** Class of a table row that leads somewhere. */
export const rowLink = (selected = false): string => cx(classes.link, selected && classes.selected);
