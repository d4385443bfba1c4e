import type * as T from "../src/client/types.ts";
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
    has_password: true,
    disabled_at: null,
    created_at: "2026-03-01T08:00:00Z",
  }),
);

/** What the server holds that screens may change. */
export const state = {
  signedIn: true,
  needsPassword: false,
  role: "admin" as T.Role,
  hosts: [...HOSTS],
  empty: false,
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
    "finding.read",
    "incident.read",
    "schedule.read",
    "oncall.read",
    "report.read",
    "kill_switch.read",
    "token.own",
    "trigger.read",
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
    this_host: HOSTS[0]!.id,
  };
}
