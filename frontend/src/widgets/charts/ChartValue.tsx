import { useRouter } from "@tanstack/react-router";
import type { MouseEvent, ReactNode } from "react";
import type { VisualCite, VisualFigure } from "../../client/visuals";
import { NO_VALUE, quantity } from "../../core/format";
import { useMay } from "../../lib/queries";
import { Cited } from "../findings/Place";
import classes from "./Visuals.module.css";

interface Props {
  figure: VisualFigure | null | undefined;
  /** What the number is, for those who hear the link only. */
  label: string;
  /** What is shown in its place; the number itself where there is nothing. */
  children?: ReactNode;
}

/** A number in text, one click from the line that it was read from. */
export function Value({ figure, label, children }: Props) {
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
  const may = useMay();
  if (!(figure.cite.profile || (figure.cite.artifact && may("artifact.read")))) return <g>{children}</g>;
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

/**
 * The way to the line of a mark that is one of hundreds: to be spread on an `<a>` within a drawing. Such marks are out
 * of the order of Tab, because the table beside the drawing holds the same links.
 */
export function useSource() {
  const router = useRouter();
  const may = useMay();
  return (cite: VisualCite, line: number) => {
    if (!cite.artifact || !may("artifact.read")) return {};
    const where = {
      to: "/artifacts/$artifactId",
      params: { artifactId: cite.artifact },
      search: { line: line > 0 ? String(line) : undefined, run: cite.run || undefined },
    } as never;
    return {
      href: router.buildLocation(where).href,
      tabIndex: -1,
      onClick: (event: MouseEvent) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
        event.preventDefault();
        void router.navigate(where);
      },
    };
  };
}
