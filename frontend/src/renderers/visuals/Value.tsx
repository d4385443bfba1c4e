import type { ReactNode } from "react";
import type { VisualFigure } from "../../client/visuals";
import { NO_VALUE, quantity } from "../../core/format";
import { Cited } from "../findings/Place";
import classes from "./Visuals.module.css";

/** A number in text or in a drawing, one click from the line that it was read from. */
export function Value({
  figure,
  label,
  children,
}: {
  figure: VisualFigure | null | undefined;
  /** What the number is, for those who hear the link only. */
  label: string;
  /** What is shown in its place; the number itself where there is nothing. */
  children?: ReactNode;
}) {
  if (!figure) return <span className="dim">{NO_VALUE}</span>;
  const shown = quantity(figure.value, figure.unit);
  return (
    <Cited place={figure.cite} label={`${label} ${shown}`} className={classes.value}>
      {children ?? shown}
    </Cited>
  );
}

/** The same within a drawing, where only marks may stand: a link around what is drawn. */
export function Mark({
  figure,
  label,
  children,
}: {
  figure: VisualFigure;
  label: string;
  children: ReactNode;
}) {
  return (
    <Cited
      place={figure.cite}
      label={`${label} ${quantity(figure.value, figure.unit)}`}
      className={classes.mark}
    >
      {children}
    </Cited>
  );
}
