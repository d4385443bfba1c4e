/** Names for the schemas of the API that this folder uses. */

import type { components } from "../../client/schema";

type Schemas = components["schemas"];
export type ApiToken = Schemas["TokenResponse"];
export type AuditEntry = Schemas["AuditEntryResponse"];
export type Foreseen = Schemas["RetentionPreviewResponse"];
export type GroupRole = Schemas["GroupRole"];
export type KeptKind = RetentionPolicy["kind"];
export type Measured = Schemas["StorageMeasurement"];
export type NetworkRule = Schemas["NetworkRuleResponse"];
export type Provider = Schemas["ProviderResponse"];
export type ProviderChecked = Schemas["ProviderCheckResponse"];
export type ProviderState = Schemas["ProviderStateResponse"];
export type RetentionPolicy = Schemas["RetentionPolicyResponse"];
export type Storage = Schemas["StorageResponse"];
/** Kinds of stored data, in the order of all charts. */
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
