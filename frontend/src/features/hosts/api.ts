/** Names for the schemas of the API that this folder uses. */

import type { Credential, Host, Preflight } from "../../client/models";
import type { components } from "../../client/schema";

type Schemas = components["schemas"];
export type CollectorReadiness = NonNullable<Preflight["collectors"]>[number];
export type CredentialKind = Credential["kind"];
export type CredentialSpec = Schemas["CredentialSpec"];
export type FactChange = Schemas["FactChangeResponse"];
export type FactChanges = Schemas["HostChangesResponse"];
export type FactReading = Schemas["FactReadingResponse"];
export type Facts = NonNullable<Host["facts"]>;
export type ImportRow = Schemas["HostImportRow"];
export type ScannedKey = Schemas["HostKeyScanResponse"];
