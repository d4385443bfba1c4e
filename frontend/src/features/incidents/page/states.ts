import type { IncidentState } from "../../client/incidents";
import type { Tone } from "../../components/Mark";

export const STATE_TONES: Record<IncidentState, Tone> = {
  open: "bad",
  investigating: "warn",
  identified: "warn",
  mitigated: "idle",
  resolved: "ok",
};
