import { useId } from "react";
import classes from "./Legend.module.css";

/**
 * Number of fills. They differ in pattern, not only in color: solid, hatched, dotted, striped. A chart renders
 * `FillPatterns` with its own id and fills shapes with `fillUrl(id, n)`, which repeats after this number.
 */
export const FILL_COUNT = 8;

export const fillUrl = (id: string, n: number): string =>
  `url(#${id}-${((n % FILL_COUNT) + FILL_COUNT) % FILL_COUNT})`;

const MARKS = [
  null,
  <path key="1" d="M-1 5 5 -1M3 9 9 3" className={classes.line} />,
  <path key="2" d="M0 4H8" className={classes.thickLine} />,
  <path key="3" d="M2 2h1.6M6 6h1.6" className={classes.dot} />,
  <path key="4" d="M-1 5 5 -1M3 9 9 3M-1 3 5 9M3 -1 9 5" className={classes.line} />,
  <path key="5" d="M4 0V8" className={classes.thickLine} />,
  null,
  <path key="7" d="M0 4H8M4 0V8" className={classes.line} />,
];

/** Return a unique id for the patterns of a chart, valid in `url(#id)`. */
export const useFillId = (): string => `ink${useId().replace(/\W/g, "")}`;

/** Render the SVG patterns of a chart. */
export function FillPatterns({ id }: { id: string }) {
  return (
    <defs>
      {MARKS.map((mark, n) => (
        <pattern key={n} id={`${id}-${n}`} width="8" height="8" patternUnits="userSpaceOnUse">
          <rect width="8" height="8" className={classes.background} data-ink={n} />
          {mark}
        </pattern>
      ))}
    </defs>
  );
}

/** Render a sample of fill `n`, for legends. */
export function Swatch({ id, n }: { id: string; n: number }) {
  return (
    <svg width="14" height="10" aria-hidden className={classes.swatch}>
      <rect x="0.5" y="0.5" width="13" height="9" fill={fillUrl(id, n)} className={classes.edge} />
    </svg>
  );
}
