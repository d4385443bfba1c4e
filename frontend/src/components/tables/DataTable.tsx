import { type CSSProperties, type ReactNode, useLayoutEffect, useRef } from "react";
import { cx } from "../../core/cx";
import classes from "./DataTable.module.css";

interface DataTableProps {
  /** Name of the table for screen readers. */
  label: string;
  children: ReactNode;
  /** Maximum height in px or as a CSS length; higher tables scroll. */
  maxHeight?: number | string;
  /** On a narrow screen, render each row as lines of column names and values instead of scrolling horizontally. */
  stack?: boolean;
}

/** Render a dense table with a sticky head. Wide tables scroll horizontally, or stack their cells. */
export function DataTable({ label, children, maxHeight, stack = false }: DataTableProps) {
  const table = useRef<HTMLTableElement>(null);
  // Stacked cells need the name of their column. Copy it from the table head.
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
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard
      tabIndex={0}
      aria-label={label}
    >
      <table ref={table} className={cx(classes.table, stack && classes.stacked)}>
        {children}
      </table>
    </section>
  );
}

/** Return the CSS class of a table row with a link. */
export const rowLinkClass = (selected = false): string => cx(classes.link, selected && classes.selected);
