/** Names for the schemas of the API that this folder uses. */

import type { Report } from "../../client/models";
import type { components } from "../../client/schema";

type Schemas = components["schemas"];
export type FollowUp = Schemas["FollowUp"];
export type RedactionKind = Report["kinds"][number];
/** Kinds of text that redaction replaces, in the order of the server. */
export const REDACTION_KINDS = [
  "secret",
  "email",
  "word",
  "path",
  "argument",
  "sql",
  "host",
  "user",
  "address",
  "symbol",
] as const;
