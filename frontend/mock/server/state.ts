import type * as T from "../../src/client/models.ts";
import type { ApiToken, DebuginfodServer, NetworkRule, Provider } from "../../src/features/settings/api.ts";
import type { PlatformState } from "../../src/lib/platform.ts";
import { THRESHOLDS } from "../analysis/knowledge.ts";
import { HOSTS } from "../dataset.ts";
import ACTIONS from "./actions.json" with { type: "json" };
import { makeId } from "./pseudoRandom.ts";

export const USERS: T.User[] = ["admin", "lena", "wei", "mo"].map(
  (name, i): T.User => ({
    id: makeId("user", i),
    name,
    role: (["admin", "oncall", "investigator", "viewer"] as const)[i] as T.Role,
    label_scope: i === 3 ? { role: ["feed"] } : {},
    locale: i === 2 ? "zh" : "en",
    has_password: i !== 2,
    uses_single_sign_on: i === 2,
    disabled_at: null,
    created_at: "2026-03-01T08:00:00Z",
  }),
);

export const REDIRECT_URI = "https://culprit.example.com/api/v1/session/oidc/callback";

/** State of the mock server that screens change. */
export const state = {
  signedIn: true,
  needsPassword: false,
  proofNeeded: null as "password" | "provider" | null,
  role: "admin" as T.Role,
  platform: {
    state: "ready",
    checks: { database: "ok", migrations: "ok", broker: "ok" },
    parts: {},
  } as PlatformState,
  hosts: [...HOSTS],
  empty: false,
  provider: {
    id: makeId("provider", 0),
    name: "Example ID",
    issuer: "https://id.example.com/realms/main",
    client_id: "culprit",
    has_secret: true,
    scopes: ["openid", "profile", "groups"],
    groups_claim: "groups",
    name_claim: "preferred_username",
    roles: [
      { group: "platform-oncall", role: "oncall" },
      { group: "platform-admins", role: "admin" },
    ],
    default_role: "viewer",
    session_hours: 12,
    enabled: true,
    version: 3,
    updated_at: "2026-11-20T08:00:00Z",
    redirect_uri: REDIRECT_URI,
    people: 14,
  } as Provider | null,
  credentials: [
    {
      id: makeId("cred", 0),
      name: "fleet key",
      kind: "generated_key",
      username: "culprit",
      public: {
        authorized_keys_line:
          "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFakeFakeFakeFakeFakeFakeFakeFakeFakeFakeFake culprit fleet key",
      },
      created_at: "2026-03-01T08:00:00Z",
    },
    {
      id: makeId("cred", 1),
      name: "breakglass",
      kind: "key",
      username: "root",
      public: {},
      created_at: "2026-03-01T08:00:00Z",
    },
    {
      id: makeId("cred", 2),
      name: "lab agent",
      kind: "agent",
      username: null,
      public: {},
      created_at: "2026-05-01T08:00:00Z",
    },
  ] as T.Credential[],
  services: [] as T.Service[],
  rules: [
    {
      id: makeId("rule", 0),
      cidr: "127.0.0.1/32",
      port_from: 42022,
      port_to: 42022,
      note: "this machine",
      created_at: "2026-03-01T08:00:00Z",
    },
    {
      id: makeId("rule", 1),
      cidr: "10.40.0.0/14",
      port_from: 22,
      port_to: 22,
      note: "fleet",
      created_at: "2026-03-01T08:00:00Z",
    },
  ] as NetworkRule[],
  debuginfodServers: [
    {
      id: makeId("debuginfod", 0),
      url: "https://debuginfod.debian.net",
      created_at: "2026-05-01T08:00:00Z",
    },
    {
      id: makeId("debuginfod", 1),
      url: "http://symbols.internal.example:8002",
      created_at: "2026-06-01T08:00:00Z",
    },
  ] as DebuginfodServer[],
  thresholds: [...THRESHOLDS],
  tokens: [
    {
      id: makeId("token", 0),
      name: "cli on this machine",
      prefix: "culprit_a81f",
      role: "admin",
      purpose: null,
      expires_at: null,
      last_used_at: "2026-11-21T02:30:00Z",
      created_at: "2026-03-01T08:00:00Z",
    },
  ] as ApiToken[],
};

const ROLE_ORDER: T.Role[] = ["viewer", "investigator", "oncall", "admin"];

export function currentUser(): T.Me {
  const user = USERS[0]!;
  return {
    id: user.id,
    name: user.name,
    role: state.role,
    locale: "en",
    label_scope: {},
    csrf: "mock",
    permissions: Object.entries(ACTIONS)
      .filter(([, lowest]) => ROLE_ORDER.indexOf(lowest as T.Role) <= ROLE_ORDER.indexOf(state.role))
      .map(([action]) => action),
    version: "0.1.0",
    needs_password: state.needsPassword,
    uses_single_sign_on: false,
    this_host: HOSTS[0]!.id,
  };
}
