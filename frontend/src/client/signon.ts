/** What the server answers about signing in with an identity provider. */

import type { Sentence } from "../core/words";
import type { Role } from "./types";

export interface GroupRole {
  group: string;
  role: Role;
}
export interface Provider {
  id: string;
  name: string;
  issuer: string;
  client_id: string;
  has_secret: boolean;
  scopes: string[];
  groups_claim: string;
  name_claim: string;
  roles: GroupRole[];
  /** The role of people without a fitting group; null: they are refused. */
  otherwise: Role | null;
  session_hours: number;
  enabled: boolean;
  version: number;
  updated_at: string;
  redirect_uri: string;
  people: number;
}
export interface ProviderState {
  provider: Provider | null;
  redirect_uri: string;
}
export interface ProviderChecked {
  ok: boolean;
  failure: Sentence | null;
  detail: string;
  algorithms: string[];
  keys: number;
  end_session: boolean;
}
export interface SignInWays {
  provider: string | null;
}
