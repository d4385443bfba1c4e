import type { CellState } from "../../../core/hosts/fleet";

/** Cell states in the order of the legend. */
export const CELL_STATES: readonly CellState[] = [
  "critical",
  "warn",
  "info",
  "inconclusive",
  "not_matched",
  "absent",
];
