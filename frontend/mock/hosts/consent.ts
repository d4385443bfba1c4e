import type { CaptureScope, CollectorInfo, Host, Tier } from "../../src/client/models.ts";
import type { Message } from "../../src/core/text/messages.ts";

const TIERS: readonly Tier[] = ["light", "standard", "deep", "ptrace"];

/** Return the highest tier of collectors. */
export const findHighestTier = (collectors: readonly CollectorInfo[]): Tier =>
  TIERS[Math.max(0, ...collectors.map((collector) => TIERS.indexOf(collector.tier)))] ?? "light";

/** Return why ptrace is not allowed here, with the messages and order of the server. */
export function ptraceRefusal(
  tier: Tier,
  hosts: readonly Host[],
  scope: CaptureScope | undefined,
): Message | null {
  if (tier !== "ptrace") return null;
  const kind = scope?.kind ?? "host";
  if (kind !== "process") return { key: "capture.ptrace_one_process", params: { kind } };
  const [host, ...others] = hosts;
  if (!host || others.length > 0) return { key: "capture.ptrace_one_host", params: { count: hosts.length } };
  return host.allows_ptrace ? null : { key: "capture.ptrace_not_allowed", params: { host: host.name } };
}
