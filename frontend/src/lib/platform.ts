import { queryOptions, useQuery } from "@tanstack/react-query";

/** Poll interval of each open page. */
const POLL_MS = 10_000;

export type PartState =
  | "ok"
  | "starting"
  | "restarting"
  | "failed"
  | "stopped"
  | "not_seen"
  | "away"
  | "unknown";

/** One process of the platform, as `/readyz` reports it. */
export interface PlatformPart {
  readonly state: PartState;
  readonly since?: string;
  readonly restarts?: number;
  readonly signal?: string;
  readonly exit_code?: number;
  readonly out_of_memory?: boolean;
}

export interface PlatformState {
  readonly state: "ready" | "degraded" | "not_ready";
  readonly checks: Readonly<Record<string, string>>;
  readonly parts: Readonly<Record<string, PlatformPart>>;
}

/**
 * Return the state of the platform from `/readyz`, which is available without a database too. Returns null if the
 * response has another format, for example from a proxy that serves this path.
 */
export async function loadPlatformState(signal?: AbortSignal): Promise<PlatformState | null> {
  const response = await globalThis.fetch("/readyz", { cache: "no-store", ...(signal ? { signal } : {}) });
  const body: unknown = await response.json().catch(() => null);
  const isState = typeof body === "object" && body !== null && "checks" in body && "parts" in body;
  return isState ? (body as PlatformState) : null;
}

export const platformStateQuery = queryOptions({
  queryKey: ["platform-state"],
  queryFn: ({ signal }) => loadPlatformState(signal),
  retry: false,
});

export const usePlatformState = () => useQuery({ ...platformStateQuery, refetchInterval: POLL_MS });

/** Parts whose name and impact are in the i18n texts. */
const NAMES = [
  "api",
  "postgresql",
  "schema",
  "scheduler",
  "sshd",
  "valkey",
  "worker-parse",
  "worker-ssh",
] as const;

/** States of a failing part, worst first. */
const FAILURE_STATES = ["failed", "away", "not_seen", "restarting", "stopped", "starting"] as const;

export interface FailingPart {
  readonly name: (typeof NAMES)[number];
  readonly state: (typeof FAILURE_STATES)[number];
  readonly part: PlatformPart;
}

/** Return the failing parts, worst state first. The state of parts without their own process comes from the checks. */
export function listFailingParts({ checks, parts }: PlatformState): FailingPart[] {
  const all: Record<string, PlatformPart | undefined> = { ...parts };
  if (checks.database !== "ok") all.postgresql = markFailed(parts.postgresql);
  else if (checks.migrations !== "ok") all.schema = { state: "failed" };
  if (checks.broker !== "ok") all.valkey = markFailed(parts.valkey);
  return FAILURE_STATES.flatMap((state) =>
    NAMES.flatMap((name) => {
      const part = all[name];
      return part?.state === state ? [{ name, state, part }] : [];
    }),
  );
}

/** Return the state of a part whose check failed: it is down even if its process runs. */
const markFailed = (part: PlatformPart | undefined): PlatformPart =>
  part && part.state !== "ok" ? part : { state: "away" };
