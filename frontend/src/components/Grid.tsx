import { type ReactNode, useLayoutEffect, useRef } from "react";
import { cx } from "../core/cx";
import classes from "./Grid.module.css";

interface GridProps {
  /** Says what the rows are, to those who do not see the table. */
  label: string;
  children: ReactNode;
  /** Scrolls inside itself above this height. */
  maxHeight?: number | string;
  /** On a narrow screen each row becomes a block of names and values, so that nothing is out of sight. */
  stack?: boolean;
}

/** A dense table with a head that stays. Wide tables scroll sideways inside themselves, or stack their cells. */
export function Grid({ label, children, maxHeight, stack = false }: GridProps) {
  const table = useRef<HTMLTableElement>(null);
  // Where cells are stacked, each needs the name of its column; the head is the one place that knows it.
  useLayoutEffect(() => {
    if (!stack || !table.current) return;
    const names = [...(table.current.tHead?.rows[0]?.cells ?? [])].map((cell) => cell.textContent ?? "");
    for (const body of table.current.tBodies)
      for (const row of body.rows)
        for (const [at, cell] of [...row.cells].entries())
          if (row.cells.length === names.length) cell.dataset.name = names[at] ?? "";
  });
  return (
    <section
      className={classes.scroll}
      style={maxHeight ? { maxHeight } : undefined}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
      tabIndex={0}
      aria-label={label}
    >
      <table ref={table} className={cx(classes.table, stack && classes.stack)}>
        {children}
      </table>
    </section>
  );
}

/** Class of a table row that leads somewhere. */
export const rowLink = (selected = false): string => cx(classes.link, selected && classes.selected);
