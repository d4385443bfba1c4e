import { useQuery } from "@tanstack/react-query";

/** How often every open screen asks, in milliseconds. */
const EVERY_MS = 10_000;

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
 * The state of the platform, from outside `/api/v1`: it answers while the database is away, too. Null where something
 * else answers, such as a proxy that keeps this address to itself.
 */
export async function loadPlatformState(signal?: AbortSignal): Promise<PlatformState | null> {
  const response = await globalThis.fetch("/readyz", { cache: "no-store", ...(signal ? { signal } : {}) });
  const body: unknown = await response.json().catch(() => null);
  const isState = typeof body === "object" && body !== null && "checks" in body && "parts" in body;
  return isState ? (body as PlatformState) : null;
}

export const usePlatformState = () =>
  useQuery({
    queryKey: ["platform-state"],
    queryFn: ({ signal }) => loadPlatformState(signal),
    refetchInterval: EVERY_MS,
    retry: false,
  });

/** The parts that do not work, the worst first; what has no part of its own comes from the checks. */
export function listTroubles({ checks, parts }: PlatformState): [string, PlatformPart][] {
  const all = { ...parts };
  if (checks.database !== "ok") all.postgresql = worse(parts.postgresql);
  else if (checks.migrations !== "ok") all.schema = { state: "failed" };
  if (checks.broker !== "ok") all.valkey = worse(parts.valkey);
  return Object.entries(all)
    .filter(([name, part]) => name in KNOWN && part.state !== "ok" && part.state !== "unknown")
    .sort(([, a], [, b]) => RANK[b.state] - RANK[a.state]);
}

/** What does not answer is away, whatever its process does. */
const worse = (part: PlatformPart | undefined): PlatformPart =>
  part && part.state !== "ok" ? part : { state: "away" };

const RANK: Record<PartState, number> = {
  failed: 6,
  away: 5,
  not_seen: 4,
  restarting: 3,
  stopped: 2,
  starting: 1,
  unknown: 0,
  ok: 0,
};

/** The parts that have a name and a consequence in the texts. */
const KNOWN: Readonly<Record<string, true>> = {
  api: true,
  postgresql: true,
  schema: true,
  scheduler: true,
  sshd: true,
  valkey: true,
  "worker-parse": true,
  "worker-ssh": true,
};
