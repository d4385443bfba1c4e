/** Names for the schemas of the API that this folder uses. */

import type { components } from "../../client/schema";

type Schemas = components["schemas"];
export type SignInMethods = Schemas["SignInMethodsResponse"];
