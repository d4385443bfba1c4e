import { StatusIcon, type Tone } from "../../../components/StatusIcon";
import { VerdictIcon } from "../../../components/VerdictIcon";
import type { CellState } from "../../../core/hosts/fleet";

const TONES: Partial<Record<CellState, Tone>> = { critical: "bad", warn: "warn", not_matched: "ok" };

/** The shape of a cell's state, so that color is never the only cue. */
export function CellIcon({ state }: { state: CellState }) {
  const tone = TONES[state];
  if (tone) return <StatusIcon tone={tone} />;
  if (state === "info") return <VerdictIcon verdict="context" />;
  return <VerdictIcon verdict={state === "inconclusive" ? "inconclusive" : "absent"} />;
}
