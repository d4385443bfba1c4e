/** Names for the schemas of the API that this folder uses. */

import type { components } from "../../client/schema";

type Schemas = components["schemas"];
export type CaptureBlock = Schemas["CaptureBlockResponse"];
export type HostEvent = Schemas["TimelineEventResponse"];
export type Track = Schemas["TrackResponse"];
export type Timeline = Schemas["TimelineResponse"];
export type TimelineOverview = Schemas["TimelineOverviewResponse"];
