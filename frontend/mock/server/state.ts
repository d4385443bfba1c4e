import type * as S from "../src/client/signon.ts";
import type * as T from "../src/client/types.ts";
import type { PlatformState } from "../src/lib/platform.ts";
import { THRESHOLDS } from "./knowledge.ts";
import { id } from "./noise.ts";
import { HOSTS } from "./world.ts";

export const USERS: T.User[] = ["admin", "lena", "wei", "mo"].map(
  (name, i): T.User => ({
    id: id("user", i),
    name,
    role: (["admin", "oncall", "investigator", "viewer"] as const)[i] as T.Role,
    label_scope: i === 3 ? { role: ["feed"] } : {},
    locale: i === 2 ? "zh" : "en",
    has_password: i !== 2,
    signs_in_elsewhere: i === 2,
    disabled_at: null,
    created_at: "2026-03-01T08:00:00Z",
  }),
);

export const REDIRECT = "https://culprit.example.com/api/v1/session/oidc/callback";

/** What the server holds that screens may change. */
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
    id: id("provider", 0),
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
    otherwise: "viewer",
    session_hours: 12,
    enabled: true,
    version: 3,
    updated_at: "2026-11-20T08:00:00Z",
    redirect_uri: REDIRECT,
    people: 14,
  } as S.Provider | null,
  credentials: [
    {
      id: id("cred", 0),
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
      id: id("cred", 1),
      name: "breakglass",
      kind: "key",
      username: "root",
      public: {},
      created_at: "2026-03-01T08:00:00Z",
    },
    {
      id: id("cred", 2),
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
      id: id("rule", 0),
      cidr: "127.0.0.1/32",
      port_from: 42022,
      port_to: 42022,
      note: "this machine",
      created_at: "2026-03-01T08:00:00Z",
    },
    {
      id: id("rule", 1),
      cidr: "10.40.0.0/14",
      port_from: 22,
      port_to: 22,
      note: "fleet",
      created_at: "2026-03-01T08:00:00Z",
    },
  ] as T.NetworkRule[],
  thresholds: [...THRESHOLDS],
  tokens: [
    {
      id: id("token", 0),
      name: "cli on this machine",
      prefix: "culprit_a81f",
      role: "admin",
      purpose: null,
      expires_at: null,
      last_used_at: "2026-11-21T02:30:00Z",
      created_at: "2026-03-01T08:00:00Z",
    },
  ] as T.ApiToken[],
};

const MAY: Record<T.Role, string[]> = {
  viewer: [
    "host.read",
    "capture.read",
    "profile.read",
    "service.read",
    "event.read",
    "finding.read",
    "incident.read",
    "schedule.read",
    "oncall.read",
    "report.read",
    "kill_switch.read",
    "token.own",
    "trigger.read",
    "standby.read",
  ],
  investigator: [
    "artifact.read",
    "capture.light",
    "capture.standard",
    "capture.cancel",
    "capture.import",
    "profile.diff",
    "host.check",
    "incident.edit",
    "demo.busy",
    "report.edit",
    "report.names",
    "report.share",
    "event.tell",
  ],
  oncall: [
    "capture.deep",
    "incident.resolve",
    "schedule.manage",
    "maintenance.manage",
    "oncall.override",
    "report.approve",
    "channel.read",
    "notice.read",
    "trigger.manage",
    "armed.manage",
    "ring.manage",
    "event.manage",
  ],
  admin: [
    "capture.ptrace",
    "host.enrol",
    "host.edit",
    "host.pin",
    "host.retire",
    "credential.manage",
    "network.manage",
    "service.manage",
    "signon.manage",
    "user.manage",
    "audit.read",
    "storage.manage",
    "storage.read",
    "threshold.manage",
    "schedule.allow_deep",
    "oncall.manage",
    "kill_switch.manage",
    "channel.manage",
    "tier.allow",
  ],
};
const ORDER: T.Role[] = ["viewer", "investigator", "oncall", "admin"];

export function me(): T.Me {
  const user = USERS[0]!;
  return {
    id: user.id,
    name: user.name,
    role: state.role,
    locale: "en",
    label_scope: {},
    csrf: "mock",
    may: ORDER.slice(0, ORDER.indexOf(state.role) + 1).flatMap((r) => MAY[r]),
    version: "0.1.0",
    needs_password: state.needsPassword,
    signs_in_elsewhere: false,
    this_host: HOSTS[0]!.id,
  };
}
