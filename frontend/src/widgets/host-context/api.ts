/** Names for the schemas of the API that this folder uses. */

import type { components } from "../../client/schema";

type Schemas = components["schemas"];
export type ContextItem = Schemas["ContextItemResponse"];
export type ContextSection = Schemas["ContextSectionResponse"];
export type ContextPeer = Schemas["ContextPeerResponse"];
