/** Time accounts in the order in which services wait for each other. */

import type { TimeAccount } from "./api";

export interface ChainLink {
  readonly account: TimeAccount;
  /** 0 for a harmed service, 1 for a service that it waits for, and so on. */
  readonly depth: number;
  /** The service that waits for this one. */
  readonly caller: string | undefined;
}

type ServiceRef = Pick<TimeAccount, "service" | "subject">;

const keyOf = ({ service, subject }: ServiceRef): string =>
  [
    service,
    ...Object.entries(subject)
      .map(([name, value]) => `${name}=${value}`)
      .sort(),
  ].join(" ");

/** Return each account once, depth first: harmed services, each followed by the services that it waits for. */
export function listChain(accounts: readonly TimeAccount[]): ChainLink[] {
  const byKey = new Map(accounts.map((account) => [keyOf(account), account]));
  const seen = new Set<TimeAccount>();
  const chain: ChainLink[] = [];
  const add = (account: TimeAccount, depth: number, caller?: string): void => {
    if (seen.has(account)) return;
    seen.add(account);
    chain.push({ account, depth, caller });
    for (const { callee } of account.shares) {
      const below = callee && byKey.get(keyOf(callee));
      if (below) add(below, depth + 1, account.service);
    }
  };
  for (const account of accounts) if (account.is_harmed) add(account, 0);
  for (const account of accounts) add(account, 0);
  return chain;
}

/** Return the name of the only harmed service, or undefined if none or several are harmed. */
export function findHarmedService(accounts: readonly TimeAccount[]): string | undefined {
  const harmed = accounts.filter((account) => account.is_harmed);
  return harmed.length === 1 ? harmed[0]?.service : undefined;
}

const GROUPS: Record<string, string> = {
  running: "cpu", runnable: "queue", throttled: "queue", disk: "disk", fault: "disk", filesystem: "disk",
  lock: "lock", semaphore: "lock", condition: "lock", park: "lock", peer: "peer", dns: "peer", client: "peer",
  held: "peer", pipe: "peer",
}; // biome-ignore format: a short list

/** Return the group of an activity, which determines its fill in a bar. */
export const activityGroup = (activity: string): string =>
  activity === "unknown" ? "unknown" : (GROUPS[activity] ?? "other");
