import { Mark, type Tone } from "../../components/Mark";
import { Verdict } from "../../components/Verdict";
import type { CellLook } from "../../core/fleet";

const TONES: Partial<Record<CellLook, Tone>> = { critical: "bad", warn: "warn", quiet: "ok" };

/** The shape of a cell's state, so that colour is never the only cue. */
export function Sign({ look }: { look: CellLook }) {
  const tone = TONES[look];
  if (tone) return <Mark tone={tone} />;
  if (look === "info") return <Verdict look="context" />;
  return <Verdict look={look === "inconclusive" ? "inconclusive" : "absent"} />;
}
