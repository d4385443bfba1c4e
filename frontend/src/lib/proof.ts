import { useSyncExternalStore } from "react";

/** How a person proves who they are: with their password, or by signing in again at the identity provider. */
export type ProofKind = "password" | "provider";

/** Where the identity provider sends the browser back to. */
export const PROVED_PATH = "/proved";
/** A tab that returns from the provider writes here, and the browser notifies the tab that waits. */
export const PROVED_KEY = "culprit.proved";

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

/** Opens the dialog that asks for a proof; resolves to false where the person cancels it, or nothing shows it. */
export function requestProof(request: ProofRequest): Promise<boolean> {
  if (listeners.size === 0) return Promise.resolve(false);
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (current === null) show(request);
  });
}

/** Closes the dialog; with a proof, the actions that wait for it are repeated. */
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

/** The proof that is asked for now. */
export const useProofRequest = (): ProofRequest | null => useSyncExternalStore(subscribe, () => current);
