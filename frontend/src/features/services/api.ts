/** Names for the schemas of the API that this folder uses. */

import type { Service } from "../../client/models";
import type { components } from "../../client/schema";

type Schemas = components["schemas"];
export type QueryResult = Schemas["SourceQueryResult"];
export type ServiceSource = Service["source"];
