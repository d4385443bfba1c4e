/** Names for the schemas of the API that this folder uses. */

import type { components } from "../../client/schema";

type Schemas = components["schemas"];
export type FiringState = Firing["state"];
export type Firing = Schemas["ScheduleFiringResponse"];
export type Upcoming = Schemas["UpcomingTime"];
