import type { CaptureScope, CollectorInfo, ScopeKind } from "../../client/models";
import type { Message } from "../../core/text/messages";
import type { CollectorOption } from "./api";

export const SCOPE_KINDS: readonly ScopeKind[] = ["host", "process", "cgroup", "unit", "container", "port"];

const PID_MAX = 2 ** 22;
const PORT_MAX = 65_535;

/** Pattern of the whole value of each kind. The server and the host check the same patterns. */
const PATTERNS: Record<ScopeKind, RegExp> = {
  host: /^$/,
  process: /^[1-9][0-9]{0,6}$/,
  cgroup: /^\/[A-Za-z0-9_.@:/\\-]{0,1022}$/,
  unit: /^[A-Za-z0-9_@:\\][A-Za-z0-9_.@:\\-]{0,254}$/,
  container: /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/,
  port: /^[1-9][0-9]{0,4}$/,
};

/** Return whether the value of a scope is well-formed and in range. */
export function isScopeValid({ kind, value }: CaptureScope): boolean {
  if (!PATTERNS[kind].test(value)) return false;
  if (kind === "process") return Number(value) <= PID_MAX;
  if (kind === "port") return Number(value) <= PORT_MAX;
  return kind !== "cgroup" || !value.split("/").includes("..");
}

/** Return the URL parameter of a scope: `kind=value`, or "" for a whole host. */
export const formatScope = ({ kind, value }: CaptureScope): string =>
  kind === "host" ? "" : `${kind}=${value}`;

/** Parse the URL parameter of a scope; text without a known kind means a whole host. */
export function parseScope(text: string): CaptureScope {
  const [kind = "", ...rest] = text.split("=");
  const known = SCOPE_KINDS.find((scopeKind) => scopeKind === kind && scopeKind !== "host");
  return known ? { kind: known, value: rest.join("=") } : { kind: "host", value: "" };
}

/** Entered option values by collector and option name. */
export type OptionDraft = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Return whether a collector accepts the value; "" is valid for an option that is not required. */
export function isOptionValid(option: CollectorOption, value: string): boolean {
  if (value === "") return !option.required;
  try {
    return new RegExp(`^(?:${option.pattern})$`).test(value);
  } catch {
    return true; // The browser cannot compile this pattern; the server checks the value.
  }
}

/** Return the non-empty option values of the selected collectors, for the request. */
export function pickFilledOptions(
  collectors: readonly CollectorInfo[],
  draft: OptionDraft,
): Record<string, Record<string, string>> {
  const out: Record<string, Record<string, string>> = {};
  for (const { id, options } of collectors) {
    const typed = options.flatMap(({ name }) => {
      const value = draft[id]?.[name]?.trim() ?? "";
      return value === "" ? [] : [[name, value] as const];
    });
    if (typed.length > 0) out[id] = Object.fromEntries(typed);
  }
  return out;
}

export type ErrorField = "hosts" | "scope" | "options" | "consent" | "bottom";

const ERROR_FIELDS: Readonly<Record<string, ErrorField>> = {
  "capture.scope_invalid": "scope",
  "capture.ptrace_one_process": "scope",
  "capture.ptrace_one_host": "hosts",
  "capture.ptrace_not_allowed": "consent",
  "capture.ptrace_unconfirmed": "consent",
  "capture.option_invalid": "options",
  "capture.option_required": "options",
  "capture.option_unknown": "options",
  "capture.option_without_collector": "options",
};

/** Return the form field for an error message of the server; unknown messages belong to the bottom. */
export const errorFieldOf = (sentence: Message): ErrorField => ERROR_FIELDS[sentence.key] ?? "bottom";
