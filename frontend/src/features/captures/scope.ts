import type { CaptureScope, CollectorInfo, CollectorOption, ScopeKind, Sentence } from "../../client/types";

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
export function scopeFits({ kind, value }: CaptureScope): boolean {
  if (!PATTERNS[kind].test(value)) return false;
  if (kind === "process") return Number(value) <= PID_MAX;
  if (kind === "port") return Number(value) <= PORT_MAX;
  return kind !== "cgroup" || !value.split("/").includes("..");
}

/** `kind=value` as it stands in an address; a whole host has no text. */
export const scopeText = ({ kind, value }: CaptureScope): string =>
  kind === "host" ? "" : `${kind}=${value}`;

/** The reverse; what names no kind is a whole host. */
export function scopeOfText(text: string): CaptureScope {
  const [kind = "", ...rest] = text.split("=");
  const known = SCOPE_KINDS.find((one) => one === kind && one !== "host");
  return known ? { kind: known, value: rest.join("=") } : { kind: "host", value: "" };
}

/** Values by collector and name, as typed. */
export type OptionDraft = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Whether a collector takes the value; nothing at all leaves its default, where it has one. */
export function optionFits(option: CollectorOption, value: string): boolean {
  if (value === "") return !option.required;
  try {
    return new RegExp(`^(?:${option.pattern})$`).test(value);
  } catch {
    return true; // a pattern that only the server understands: it will say
  }
}

/** What is sent: values that somebody typed, for collectors that were chosen. */
export function optionsGiven(
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

export type Place = "hosts" | "scope" | "options" | "consent" | "bottom";

const PLACES: Readonly<Record<string, Place>> = {
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

/** Beside which part of the form a sentence of the server belongs. */
export const placeOf = (sentence: Sentence): Place => PLACES[sentence.key] ?? "bottom";
