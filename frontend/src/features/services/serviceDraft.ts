import type { Service, ServiceSource } from "../../client/types";
import { labelsOf, parseLabel } from "../../core/labels";

export type SourceKind = ServiceSource["kind"];
export type LocateKind = "any" | NonNullable<Service["locate"]>["kind"];

/** What somebody types to declare a service; what belongs to other kinds of source stays while one is chosen. */
export interface ServiceDraft {
  name: string;
  selector: string[];
  locateKind: LocateKind;
  locateValue: string;
  kind: SourceKind;
  url: string;
  rate: string;
  errors: string;
  latency: string;
  latencyUnit: "s" | "ms";
  token: string;
  path: string;
  format: string;
  port: number | string;
}

const EMPTY: ServiceDraft = {
  name: "",
  selector: [],
  locateKind: "any",
  locateValue: "",
  kind: "none",
  url: "",
  rate: "",
  errors: "",
  latency: "",
  latencyUnit: "s",
  token: "",
  path: "",
  format: "auto",
  port: "",
};

/** An empty draft, or a service as a draft. */
export function draftOf(service?: Service): ServiceDraft {
  if (!service) return EMPTY;
  const { source, locate } = service;
  const common: ServiceDraft = {
    ...EMPTY,
    name: service.name,
    selector: Object.entries(service.selector).map(([name, value]) => `${name}=${value}`),
    locateKind: locate?.kind ?? "any",
    locateValue: locate?.value ?? "",
    kind: source.kind,
  };
  if (source.kind === "prometheus")
    return { ...common, ...source.queries, url: source.url, latencyUnit: source.latency_unit };
  if (source.kind === "access_log") return { ...common, path: source.path, format: source.format };
  if (source.kind === "accepts") return { ...common, port: source.port };
  return common;
}

function sourceOf(draft: ServiceDraft): ServiceSource {
  switch (draft.kind) {
    case "prometheus":
      return {
        kind: "prometheus",
        url: draft.url.trim(),
        queries: { rate: draft.rate, errors: draft.errors, latency: draft.latency },
        latency_unit: draft.latencyUnit,
      };
    case "access_log":
      return { kind: "access_log", path: draft.path.trim(), format: draft.format.trim() || "auto" };
    case "accepts":
      return { kind: "accepts", port: Number(draft.port) };
    default:
      return { kind: "none" };
  }
}

/** The body of a request; `change` also says what is to be taken away. */
export function bodyOf(draft: ServiceDraft, change = false): Record<string, unknown> {
  const located = draft.locateKind !== "any" && draft.locateValue.trim() !== "";
  return {
    name: draft.name.trim(),
    selector: labelsOf(draft.selector),
    source: sourceOf(draft),
    ...(located
      ? { locate: { kind: draft.locateKind, value: draft.locateValue.trim() } }
      : change
        ? { no_locate: true }
        : {}),
    ...(draft.kind === "prometheus" && draft.token ? { token: draft.token } : {}),
  };
}

/** Whether enough is there to be saved; the server says what is wrong with it. */
export function complete(draft: ServiceDraft): boolean {
  if (!draft.name.trim() || draft.selector.length === 0) return false;
  if (!draft.selector.every((label) => parseLabel(label))) return false;
  if (draft.locateKind !== "any" && !draft.locateValue.trim()) return false;
  if (draft.kind === "prometheus")
    return [draft.url, draft.rate, draft.errors, draft.latency].every((text) => text.trim() !== "");
  if (draft.kind === "access_log") return draft.path.trim() !== "";
  return draft.kind !== "accepts" || Number(draft.port) > 0;
}
