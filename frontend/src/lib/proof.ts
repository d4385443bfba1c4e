import { useSyncExternalStore } from "react";

/** How a user confirms their identity: with the password, or by signing in again at the identity provider. */
export type ProofKind = "password" | "provider";

/** Path that the identity provider redirects to. */
export const REAUTHENTICATED_PATH = "/proved";
/** localStorage key that the redirected tab writes; its storage event notifies the waiting tab. */
export const REAUTHENTICATED_KEY = "culprit.proved";

interface ProofRequest {
  kind: ProofKind;
  minutes: number;
}

let current: ProofRequest | null = null;
let waiting: ((proved: boolean) => void)[] = [];
const listeners = new Set<() => void>();

function show(request: ProofRequest | null): void {
  current = request;
  for (const listener of listeners) listener();
}

/** Open the identity dialog. Resolves to false if the user cancels it, or if no component renders the dialog. */
export function requestProof(request: ProofRequest): Promise<boolean> {
  if (listeners.size === 0) return Promise.resolve(false);
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (current === null) show(request);
  });
}

/** Close the dialog and resolve all waiting requests with `proved`. */
export function settleProof(proved: boolean): void {
  const settled = waiting;
  waiting = [];
  show(null);
  for (const resolve of settled) resolve(proved);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** Return the pending proof request, or null. */
export const useProofRequest = (): ProofRequest | null => useSyncExternalStore(subscribe, () => current);
