import type { CellLook } from "../../core/fleet";

/** In the order of the legend. */
export const CELL_LOOKS: readonly CellLook[] = [
  "critical",
  "warn",
  "info",
  "inconclusive",
  "quiet",
  "absent",
];
