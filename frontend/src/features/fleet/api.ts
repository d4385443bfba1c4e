/** Names for the schemas of the API that this folder uses. */

import type { Finding } from "../../client/models";
import type { components } from "../../client/schema";

type Schemas = components["schemas"];
export type FleetFindingsHost = Schemas["FindingsHostResponse"];
export type FleetHost = Schemas["FleetHostResponse"];
export type FleetRule = Schemas["FleetRuleResponse"];
export type FleetUseHost = Schemas["UseHostResponse"];
export type FleetFinding = Schemas["FleetFindingResponse"];
export type PeerGroup = Schemas["PeerGroupResponse"];
export type PeerMeasure = Schemas["PeerMeasureResponse"];
export type Severity = Finding["severity"];
