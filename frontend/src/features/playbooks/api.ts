/** Names for the schemas of the API that this folder uses. */

import type { components } from "../../client/schema";

type Schemas = components["schemas"];
export type HypothesisState = Schemas["HypothesisStateResponse"];
export type PlaybookCheck = Schemas["PlaybookCheckResponse"];
export type PlaybookStep = Schemas["PlaybookStepResponse"];
