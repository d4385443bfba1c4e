/** Names for the schemas of the API that this folder uses. */

import type { components } from "../../client/schema";

type Schemas = components["schemas"];
export type AlteredFile = Schemas["AlteredFile"];
export type ApiToken = Schemas["TokenResponse"];
export type AuditEntry = Schemas["AuditEntryResponse"];
export type RetentionPreview = Schemas["RetentionPreviewResponse"];
export type DebuginfodServer = Schemas["DebuginfodServerResponse"];
export type GroupRole = Schemas["GroupRole"];
export type StoredKind = RetentionPolicy["kind"];
export type StorageMeasurement = Schemas["StorageMeasurement"];
export type NetworkRule = Schemas["NetworkRuleResponse"];
export type Provider = Schemas["ProviderResponse"];
export type ProviderCheck = Schemas["ProviderCheckResponse"];
export type ProviderState = Schemas["ProviderStateResponse"];
export type RetentionPolicy = Schemas["RetentionPolicyResponse"];
export type Storage = Schemas["StorageResponse"];
/** Kinds of stored data, in the order of all charts. */
export const STORED_KINDS = [
  "recordings",
  "texts",
  "imports",
  "profiles",
  "comparisons",
  "series",
  "tables",
  "events",
] as const satisfies readonly StoredKind[];
