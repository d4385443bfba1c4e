/** Names for the schemas of the API that this folder uses. */

import type { Incident } from "../../client/models";
import type { components } from "../../client/schema";

type Schemas = components["schemas"];
export type SymptomNumber = Schemas["SymptomNumber"];
export type Cited = Schemas["CitationResponse"];
export type Fix = Schemas["FixResponse"];
export type HostAnswer = Schemas["HostAnswerResponse"];
export type HostRole = IncidentHost["role"];
export type IncidentHost = Schemas["IncidentHostResponse"];
export type IncidentHypothesis = Schemas["HypothesisResponse"];
export type IncidentRun = Schemas["IncidentRunResponse"];
export type IncidentState = Incident["state"];
export type IncidentStep = Schemas["StepResponse"];
export type VerificationResult = NonNullable<Verification["result"]>;
export type NextProposal = Schemas["NextStepResponse"];
export type IncidentOrigin = Schemas["IncidentOriginResponse"];
export type VerdictDifference = Schemas["VerdictDifferenceResponse"];
export type VerificationOutcome = VerificationResult["outcome"];
export type Participant = Schemas["ParticipantResponse"];
export type PersonVerdict = Schemas["PersonVerdictResponse"];
export type Symptom = Schemas["Symptom"];
export type Verification = Schemas["VerificationResponse"];
export type VerificationWindow = VerificationResult["windows"][number];
export type RejectedCause = Schemas["CauseRejectionResponse"];
export const INCIDENT_STATES = ["open", "investigating", "identified", "mitigated", "resolved"] as const;
