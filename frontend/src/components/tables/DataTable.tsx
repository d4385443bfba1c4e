import { type CSSProperties, type ReactNode, useLayoutEffect, useRef } from "react";
import { cx } from "../../core/cx";
import classes from "./DataTable.module.css";

interface DataTableProps {
  /** Name of the table for screen readers. */
  label: string;
  children: ReactNode;
  /** Scrolls inside itself above this height. */
  maxHeight?: number | string;
  /** On a narrow screen each row becomes a block of names and values, so that nothing is out of sight. */
  stack?: boolean;
}

/** A dense table with a head that stays. Wide tables scroll sideways inside themselves, or stack their cells. */
export function DataTable({ label, children, maxHeight, stack = false }: DataTableProps) {
  const table = useRef<HTMLTableElement>(null);
  // Where cells are stacked, each needs the name of its column; the head is the one place that knows it.
  useLayoutEffect(() => {
    if (!stack || !table.current) return;
    const heads = [...table.current.querySelectorAll("thead tr:first-child > th")];
    const names = heads.map((head) =>
      head.querySelector(".visually-hidden") ? "" : (head.textContent ?? ""),
    );
    for (const row of table.current.querySelectorAll("tbody > tr"))
      if (row.children.length === names.length)
        for (const [at, cell] of [...row.children].entries()) cell.setAttribute("data-name", names[at] ?? "");
  });
  return (
    <section
      className={classes.scroll}
      style={
        maxHeight
          ? ({ "--most": typeof maxHeight === "number" ? `${maxHeight}px` : maxHeight } as CSSProperties)
          : undefined
      }
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
