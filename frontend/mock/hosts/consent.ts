import type { CaptureScope, CollectorInfo, Host, Sentence, Tier } from "../src/client/types.ts";

const TIERS: readonly Tier[] = ["light", "standard", "deep", "ptrace"];

/** The dearest tier among these. */
export const tierOf = (collectors: readonly CollectorInfo[]): Tier =>
  TIERS[Math.max(0, ...collectors.map((one) => TIERS.indexOf(one.tier)))] ?? "light";

/** Why nobody may stop a process with ptrace here, as the server says it and in its order. */
export function ptraceRefusal(
  tier: Tier,
  hosts: readonly Host[],
  scope: CaptureScope | undefined,
): Sentence | null {
  if (tier !== "ptrace") return null;
  const kind = scope?.kind ?? "host";
  if (kind !== "process") return { key: "capture.ptrace_one_process", params: { kind } };
  const [host, ...others] = hosts;
  if (!host || others.length > 0) return { key: "capture.ptrace_one_host", params: { count: hosts.length } };
  return host.allows_ptrace ? null : { key: "capture.ptrace_not_allowed", params: { host: host.name } };
}
