import type { Service } from "../../client/models";
import type { RequestBody } from "../../client/paths";
import { labelsOf, parseLabel } from "../../core/hosts/labels";
import type { ServiceSource } from "./api";

type ServiceBody = RequestBody<"post", "/services">;
type ServiceUpdate = RequestBody<"patch", `/services/${string}`>;
export type SourceKind = ServiceSource["kind"];
export type LocateKind = "any" | NonNullable<Service["locate"]>["kind"];

/** Fields of the service form. Fields of the source kinds that are not selected keep their values. */
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

/** Return the draft of a service, or an empty draft. */
export function toServiceDraft(service?: Service): ServiceDraft {
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

function toSource(draft: ServiceDraft): ServiceSource {
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

/** Return the request body of a new service. */
export function toServiceBody(draft: ServiceDraft): ServiceBody {
  const { locateKind } = draft;
  const value = draft.locateValue.trim();
  return {
    name: draft.name.trim(),
    selector: labelsOf(draft.selector),
    source: toSource(draft),
    ...(locateKind !== "any" && value !== "" ? { locate: { kind: locateKind, value } } : {}),
    ...(draft.kind === "prometheus" && draft.token ? { token: draft.token } : {}),
  };
}

/** Return the request body of an update; `no_locate` removes the stored locator. */
export function toServiceUpdate(draft: ServiceDraft): ServiceUpdate {
  const body = toServiceBody(draft);
  return body.locate ? body : { ...body, no_locate: true };
}

/** Return whether all required fields are filled in; the server validates their values. */
export function isServiceComplete(draft: ServiceDraft): boolean {
  if (!draft.name.trim() || draft.selector.length === 0) return false;
  if (!draft.selector.every((label) => parseLabel(label))) return false;
  if (draft.locateKind !== "any" && !draft.locateValue.trim()) return false;
  if (draft.kind === "prometheus")
    return [draft.url, draft.rate, draft.errors, draft.latency].every((text) => text.trim() !== "");
  if (draft.kind === "access_log") return draft.path.trim() !== "";
  return draft.kind !== "accepts" || Number(draft.port) > 0;
}
