/** Names for the schemas of the API that this folder uses. */

import type { Finding } from "../../client/models";
import type { components } from "../../client/schema";

type Schemas = components["schemas"];
export type NamedCause = Schemas["NamedCauseResponse"];
export type Ranking = Schemas["RankingResponse"];
export type Subject = Finding["subject"];
export type BoundedShare = Schemas["BoundedShareResponse"];
export type TimeAccount = Schemas["TimeAccountResponse"];
export type TimeShare = Schemas["TimeShareResponse"];
export type Consumer = Schemas["ConsumerResponse"];
export type DeeperCapture = Schemas["DeeperLookResponse"];
