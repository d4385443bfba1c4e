import type { CaptureScope, CollectorInfo } from "../../client/models";
import type { PreviewBody } from "../../lib/captures/usePreview";
import { filledOptions, isOptionValid, isScopeValid, type OptionDraft } from "./scope";

export const CUSTOM = "custom";

/** The fields of the form for a new capture. */
export interface CaptureDraft {
  hosts: readonly string[];
  plan: string;
  seconds: number | string;
  /** Of one's own choice; counts for the plan `custom` only. */
  collectors: readonly string[];
  scope: CaptureScope;
  options: OptionDraft;
  /** The service that is declared for the hosts is measured too. */
  service: boolean;
  reason: string;
  /** The name of the host, typed where a process is to be traced. */
  confirm: string;
}

/** The collectors that were chosen individually, as the catalog describes them. */
export function selectedCollectors(draft: CaptureDraft, about: readonly CollectorInfo[]): CollectorInfo[] {
  return draft.plan === CUSTOM ? about.filter((collector) => draft.collectors.includes(collector.id)) : [];
}

/** The body of a preview; a whole host and defaults are not spelt out. */
export function toPreviewBody(draft: CaptureDraft, chosen: readonly CollectorInfo[]): PreviewBody {
  const options = filledOptions(chosen, draft.options);
  return {
    host_ids: draft.hosts,
    plan: draft.plan,
    ...(draft.seconds === "" ? {} : { seconds: Number(draft.seconds) }),
    ...(draft.plan === CUSTOM ? { collectors: draft.collectors } : {}),
    ...(draft.scope.kind === "host" ? {} : { scope: draft.scope }),
    ...(Object.keys(options).length > 0 ? { options } : {}),
    ...(draft.service ? {} : { service: false }),
  };
}

export type MissingInput = "needHosts" | "needCollectors" | "needScope" | "needOptions";

/** What is still to be filled in before the server can be asked what would run. */
export function findMissingInput(
  draft: CaptureDraft,
  chosen: readonly CollectorInfo[],
): MissingInput | undefined {
  if (draft.hosts.length === 0) return "needHosts";
  if (draft.plan === CUSTOM && draft.collectors.length === 0) return "needCollectors";
  if (!isScopeValid(draft.scope)) return "needScope";
  const fit = chosen.every(({ id, options }) =>
    options.every((collectorOption) =>
      isOptionValid(collectorOption, draft.options[id]?.[collectorOption.name]?.trim() ?? ""),
    ),
  );
  return fit ? undefined : "needOptions";
}
