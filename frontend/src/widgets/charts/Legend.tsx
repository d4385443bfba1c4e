import { useId } from "react";
import classes from "./Legend.module.css";

/**
 * Fills that differ in pattern, not in color alone: full, hatched, dotted, striped. A drawing puts `InkDefs` into its
 * `<defs>` under an id of its own and fills with `ink(id, n)`; from the eighth on they repeat.
 */
export const INKS = 8;

export const ink = (id: string, n: number): string => `url(#${id}-${((n % INKS) + INKS) % INKS})`;

const MARKS = [
  null,
  <path key="1" d="M-1 5 5 -1M3 9 9 3" className={classes.line} />,
  <path key="2" d="M0 4H8" className={classes.thick} />,
  <path key="3" d="M2 2h1.6M6 6h1.6" className={classes.dot} />,
  <path key="4" d="M-1 5 5 -1M3 9 9 3M-1 3 5 9M3 -1 9 5" className={classes.line} />,
  <path key="5" d="M4 0V8" className={classes.thick} />,
  null,
  <path key="7" d="M0 4H8M4 0V8" className={classes.line} />,
];

/** An id for the patterns of one drawing, fit for a URL. */
export const useInkId = (): string => `ink${useId().replace(/\W/g, "")}`;

/** The patterns of one drawing. */
export function PatternDefs({ id }: { id: string }) {
  return (
    <defs>
      {MARKS.map((mark, n) => (
        <pattern key={n} id={`${id}-${n}`} width="8" height="8" patternUnits="userSpaceOnUse">
          <rect width="8" height="8" className={classes.ground} data-ink={n} />
          {mark}
        </pattern>
      ))}
    </defs>
  );
}

/** A sample of an ink, for legends. */
export function Swatch({ id, n }: { id: string; n: number }) {
  return (
    <svg width="14" height="10" aria-hidden className={classes.swatch}>
      <rect x="0.5" y="0.5" width="13" height="9" fill={ink(id, n)} className={classes.edge} />
    </svg>
  );
}
