import type { CaptureScope, CollectorInfo, ScopeKind } from "../../client/models";
import type { Message } from "../../core/text/messages";
import type { CollectorOption } from "./api";

export const SCOPE_KINDS: readonly ScopeKind[] = ["host", "process", "cgroup", "unit", "container", "port"];

const PID_MAX = 2 ** 22;
const PORT_MAX = 65_535;

/** What the whole value of each kind must match; the server and the host ask the same of it. */
const PATTERNS: Record<ScopeKind, RegExp> = {
  host: /^$/,
  process: /^[1-9][0-9]{0,6}$/,
  cgroup: /^\/[A-Za-z0-9_.@:/\\-]{0,1022}$/,
  unit: /^[A-Za-z0-9_@:\\][A-Za-z0-9_.@:\\-]{0,254}$/,
  container: /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/,
  port: /^[1-9][0-9]{0,4}$/,
};

/** Whether a host can be asked for it. */
export function isScopeValid({ kind, value }: CaptureScope): boolean {
  if (!PATTERNS[kind].test(value)) return false;
  if (kind === "process") return Number(value) <= PID_MAX;
  if (kind === "port") return Number(value) <= PORT_MAX;
  return kind !== "cgroup" || !value.split("/").includes("..");
}

/** `kind=value` as it is in an address; a whole host has no text. */
export const scopeText = ({ kind, value }: CaptureScope): string =>
  kind === "host" ? "" : `${kind}=${value}`;

/** The reverse; what names no kind is a whole host. */
export function parseScope(text: string): CaptureScope {
  const [kind = "", ...rest] = text.split("=");
  const known = SCOPE_KINDS.find((scopeKind) => scopeKind === kind && scopeKind !== "host");
  return known ? { kind: known, value: rest.join("=") } : { kind: "host", value: "" };
}

/** Values by collector and name, as typed. */
export type OptionDraft = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Whether a collector takes the value; nothing at all leaves its default, where it has one. */
export function isOptionValid(option: CollectorOption, value: string): boolean {
  if (value === "") return !option.required;
  try {
    return new RegExp(`^(?:${option.pattern})$`).test(value);
  } catch {
    return true; // only the server can check this pattern
  }
}

/** Return the options to send: the values that a user typed, for collectors that were chosen. */
export function filledOptions(
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

/** Return the part of the form that a message of the server belongs to. */
export const errorFieldOf = (sentence: Message): ErrorField => ERROR_FIELDS[sentence.key] ?? "bottom";
