import type { CaptureScope, CollectorInfo } from "../../client/types";
import type { PreviewBody } from "../../lib/usePreview";
import { type OptionDraft, optionFits, optionsGiven, scopeFits } from "./scope";

export const CUSTOM = "custom";

/** What somebody fills in to ask for a capture. */
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

/** The collectors that were chosen one by one, as the catalogue describes them. */
export function chosenOf(draft: CaptureDraft, about: readonly CollectorInfo[]): CollectorInfo[] {
  return draft.plan === CUSTOM ? about.filter((one) => draft.collectors.includes(one.id)) : [];
}

/** The body of a preview; a whole host and defaults are not spelt out. */
export function previewOf(draft: CaptureDraft, chosen: readonly CollectorInfo[]): PreviewBody {
  const options = optionsGiven(chosen, draft.options);
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

export type Lack = "needHosts" | "needCollectors" | "needScope" | "needOptions";

/** What is still to be filled in before the server can be asked what would run. */
export function lackOf(draft: CaptureDraft, chosen: readonly CollectorInfo[]): Lack | undefined {
  if (draft.hosts.length === 0) return "needHosts";
  if (draft.plan === CUSTOM && draft.collectors.length === 0) return "needCollectors";
  if (!scopeFits(draft.scope)) return "needScope";
  const fit = chosen.every(({ id, options }) =>
    options.every((one) => optionFits(one, draft.options[id]?.[one.name]?.trim() ?? "")),
  );
  return fit ? undefined : "needOptions";
}
