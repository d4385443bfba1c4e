/** The storage as the server tells it: what there is, how long it is kept, whether rows and bytes fit together. */

import type { components } from "./schema";

type Schemas = components["schemas"];
export type Storage = Schemas["StorageRead"];
export type Measured = Schemas["Measured"];
export type HostShare = Schemas["HostShare"];
export type RetentionPolicy = Schemas["PolicyRead"];
export type Foreseen = Schemas["Foreseen"];
export type KeptKind = RetentionPolicy["kind"];

/** In the order in which every picture shows them. */
export const KEPT_KINDS = [
  "recordings",
  "texts",
  "imports",
  "profiles",
  "comparisons",
  "series",
  "tables",
  "events",
] as const satisfies readonly KeptKind[];
