/** Kinds of capture scopes, and the format of their values. */
export const SCOPE_KINDS = ["host", "process", "cgroup", "container", "unit", "port"] as const;
export type ScopeKind = (typeof SCOPE_KINDS)[number];

/** Pattern of the value of each kind, equal to the patterns of the server. */
const PATTERNS: Record<ScopeKind, RegExp> = {
  host: /^$/,
  process: /^[1-9][0-9]{0,6}$/,
  cgroup: /^\/[A-Za-z0-9_.@:/\\-]{0,1022}$/,
  unit: /^[A-Za-z0-9_@:\\][A-Za-z0-9_.@:\\-]{0,254}$/,
  container: /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/,
  port: /^[1-9][0-9]{0,4}$/,
};

export const SCOPE_EXAMPLES: Record<ScopeKind, string> = {
  host: "",
  process: "4711",
  cgroup: "/system.slice/feed.service",
  unit: "feed.service",
  container: "feed-7",
  port: "8080",
};

export const isScopeValueValid = (kind: ScopeKind, value: string): boolean => PATTERNS[kind].test(value);
