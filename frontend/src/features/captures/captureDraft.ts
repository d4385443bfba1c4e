import type { CaptureScope, CollectorInfo } from "../../client/models";
import type { PreviewBody } from "../../lib/captures/useCapturePreview";
import { isOptionValid, isScopeValid, type OptionDraft, pickFilledOptions } from "./scope";

export const CUSTOM_PLAN = "custom";

/** Fields of the form for a new capture. */
export interface CaptureDraft {
  hosts: readonly string[];
  plan: string;
  seconds: number | string;
  /** Collectors of the plan `custom`; ignored for other plans. */
  collectors: readonly string[];
  scope: CaptureScope;
  options: OptionDraft;
  /** Whether to measure the service of the hosts, too. */
  service: boolean;
  reason: string;
  /** Host name, entered as confirmation of a ptrace capture. */
  confirm: string;
}

/** Return the catalog entries of individually selected collectors; empty unless the plan is `custom`. */
export function selectedCollectors(draft: CaptureDraft, about: readonly CollectorInfo[]): CollectorInfo[] {
  return draft.plan === CUSTOM_PLAN
    ? about.filter((collector) => draft.collectors.includes(collector.id))
    : [];
}

/** Return the request body of a preview, without fields that have their default value. */
export function toPreviewBody(draft: CaptureDraft, chosen: readonly CollectorInfo[]): PreviewBody {
  const options = pickFilledOptions(chosen, draft.options);
  return {
    host_ids: draft.hosts,
    plan: draft.plan,
    ...(draft.seconds === "" ? {} : { seconds: Number(draft.seconds) }),
    ...(draft.plan === CUSTOM_PLAN ? { collectors: draft.collectors } : {}),
    ...(draft.scope.kind === "host" ? {} : { scope: draft.scope }),
    ...(Object.keys(options).length > 0 ? { options } : {}),
    ...(draft.service ? {} : { service: false }),
  };
}

export type MissingInputKey = "needHosts" | "needCollectors" | "needScope" | "needOptions";

/** Return the first missing input that a preview needs, or undefined if the draft is complete. */
export function findMissingInput(
  draft: CaptureDraft,
  chosen: readonly CollectorInfo[],
): MissingInputKey | undefined {
  if (draft.hosts.length === 0) return "needHosts";
  if (draft.plan === CUSTOM_PLAN && draft.collectors.length === 0) return "needCollectors";
  if (!isScopeValid(draft.scope)) return "needScope";
  const areOptionsValid = chosen.every(({ id, options }) =>
    options.every((collectorOption) =>
      isOptionValid(collectorOption, draft.options[id]?.[collectorOption.name]?.trim() ?? ""),
    ),
  );
  return areOptionsValid ? undefined : "needOptions";
}
