import { useRouter } from "@tanstack/react-router";
import type { MouseEvent, ReactNode } from "react";
import { NO_VALUE, quantity } from "../../core/text/format";
import { usePermission } from "../../lib/queries";
import { CitedSource } from "../findings/CitationLink";
import type { VisualCitation, VisualFigure } from "./api";
import classes from "./charts.module.css";

interface Props {
  figure: VisualFigure | null | undefined;
  /** What the number is, for those who hear the link only. */
  label: string;
  /** What is text in its place; the number itself where there is nothing. */
  children?: ReactNode;
}

/** A number in text, one click from the line that it was read from. */
export function ChartValue({ figure, label, children }: Props) {
  if (!figure) return <span className="dim">{NO_VALUE}</span>;
  const text = quantity(figure.value, figure.unit);
  return (
    <CitedSource place={figure.citation} label={label} className={classes.value}>
      {children ?? text}
    </CitedSource>
  );
}

/** The same within a drawing, where only marks may stand: a link around what is drawn. */
export function ChartMark({
  figure,
  label,
  children,
}: {
  figure: VisualFigure;
  label: string;
  children: ReactNode;
}) {
  const may = usePermission();
  if (!(figure.citation.profile || (figure.citation.artifact && may("artifact.read"))))
    return <g>{children}</g>;
  return (
    <CitedSource
      place={figure.citation}
      label={`${label} ${quantity(figure.value, figure.unit)}`}
      className={classes.mark}
      isSvg
    >
      {children}
    </CitedSource>
  );
}

/**
 * The link to the line of a mark that is one of hundreds: to be spread on an `<a>` within a drawing. Such marks are
 * out of the order of Tab, because the table next to the drawing holds the same links.
 */
export function useSource() {
  const router = useRouter();
  const may = usePermission();
  return (citation: VisualCitation, line: number) => {
    if (!citation.artifact || !may("artifact.read")) return {};
    const where = {
      to: "/artifacts/$artifactId",
      params: { artifactId: citation.artifact },
      search: { line: line > 0 ? String(line) : undefined, run: citation.run || undefined },
    };
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
