import { useRouter } from "@tanstack/react-router";
import type { MouseEvent, ReactNode } from "react";
import { formatQuantity, NO_VALUE } from "../../core/text/format";
import { usePermission } from "../../lib/queries";
import { CitedSource } from "../findings/CitationLink";
import type { VisualCitation, VisualFigure } from "./api";
import classes from "./charts.module.css";

interface Props {
  figure: VisualFigure | null | undefined;
  /** Meaning of the number, for screen readers. */
  label: string;
  /** Text of the link; default: the number with its unit. */
  children?: ReactNode;
}

/** Render a number as a link to its source line. */
export function ChartValue({ figure, label, children }: Props) {
  if (!figure) return <span className="dim">{NO_VALUE}</span>;
  const text = formatQuantity(figure.value, figure.unit);
  return (
    <CitedSource place={figure.citation} label={label} className={classes.value}>
      {children ?? text}
    </CitedSource>
  );
}

/** Wrap SVG marks in a link to the source line of their number. */
export function ChartMark({
  figure,
  label,
  children,
}: {
  figure: VisualFigure;
  label: string;
  children: ReactNode;
}) {
  const can = usePermission();
  if (!(figure.citation.profile || (figure.citation.artifact && can("artifact.read"))))
    return <g>{children}</g>;
  return (
    <CitedSource
      place={figure.citation}
      label={`${label} ${formatQuantity(figure.value, figure.unit)}`}
      className={classes.mark}
      isSvg
    >
      {children}
    </CitedSource>
  );
}

/**
 * Return a function that returns the attributes of an SVG `<a>` to a source line, for charts with hundreds of marks.
 * These links are not in the tab order, because the table of the chart has the same links.
 */
export function useSourceLink() {
  const router = useRouter();
  const can = usePermission();
  return (citation: VisualCitation, line: number) => {
    if (!citation.artifact || !can("artifact.read")) return {};
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
