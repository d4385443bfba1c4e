import type { Tone } from "../../../components/StatusIcon";
import type { IncidentState } from "../api";

export const STATE_TONES: Record<IncidentState, Tone> = {
  open: "bad",
  investigating: "warn",
  identified: "warn",
  mitigated: "idle",
  resolved: "ok",
};
