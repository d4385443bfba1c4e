import { type ReactNode, useEffect } from "react";
import { cx } from "../core/cx";
import classes from "./Page.module.css";

interface PageProps {
  title: ReactNode;
  /** The browser tab's title, where `title` is no text. */
  tab?: string;
  /** Small facts right of the title. */
  meta?: ReactNode;
  /** Where this page belongs, before the title. */
  above?: ReactNode;
  actions?: ReactNode;
  /** Text columns are bounded, instruments take the full width. */
  width?: "full" | "text" | "form";
  children: ReactNode;
}

/** A screen: one title row, then content. Every route renders exactly one. */
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
  /** Right end of the heading line: counts, a summary or buttons. */
  headerExtra?: ReactNode;
  /** Without inner padding: for tables and drawings that reach the edge. */
  flush?: boolean;
  id?: string;
  children: ReactNode;
}

/** A part of a screen under its own heading: a rule, not a box in a box. */
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
