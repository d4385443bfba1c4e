import { type ReactNode, useEffect } from "react";
import { cx } from "../core/cx";
import classes from "./Page.module.css";

interface PageProps {
  title: ReactNode;
  /** Title of the browser tab if `title` is not a string. */
  tab?: string;
  /** Details to the right of the title. */
  meta?: ReactNode;
  /** Parent page, before the title. */
  above?: ReactNode;
  actions?: ReactNode;
  /** Limit the width, for pages of text. Pages with charts use the full width. */
  width?: "full" | "text" | "form";
  children: ReactNode;
}

/** Render a page: a title row, then content. Each route renders exactly one Page. */
export function Page({ title, tab, meta, above, actions, width = "full", children }: PageProps) {
  const name = tab ?? (typeof title === "string" ? title : "");
  useEffect(() => {
    document.title = name ? `${name} · Culprit` : "Culprit";
  }, [name]);
  return (
    <main className={cx(classes.page, classes[width])} id="main">
      <div className={classes.head}>
        <div className={classes.titles}>
          {above && <div className={classes.above}>{above}</div>}
          <h1 className={classes.title}>{title}</h1>
          {meta && <div className={classes.meta}>{meta}</div>}
        </div>
        {actions && <div className={classes.actions}>{actions}</div>}
      </div>
      {children}
    </main>
  );
}

interface PanelProps {
  title?: ReactNode;
  /** Content at the right of the heading: counts, a summary or buttons. */
  headerExtra?: ReactNode;
  /** Omit the inner padding, for tables and charts that reach the edge. */
  flush?: boolean;
  id?: string;
  children: ReactNode;
}

/** Render a section of a page with a heading. A line separates sections; sections have no border. */
export function Panel({ title, headerExtra, flush = false, id, children }: PanelProps) {
  return (
    <section className={classes.panel} {...(id ? { id } : {})}>
      {(title || headerExtra) && (
        <div className={classes.panelHead}>
          {title && <h2 className={classes.panelTitle}>{title}</h2>}
          {headerExtra && <div className={classes.headerExtra}>{headerExtra}</div>}
        </div>
      )}
      <div className={flush ? classes.flush : classes.body}>{children}</div>
    </section>
  );
}
