import { useSyncExternalStore } from "react";
import type { Zone } from "../core/time/clock";

/** Preferences of the user, stored in localStorage. */
export interface Prefs {
  readonly zone: Zone;
  readonly locale: "en" | "zh";
}

const KEY = "culprit.prefs";
const listeners = new Set<() => void>();

function initial(): Prefs {
  const fallback: Prefs = {
    zone: "utc",
    locale: navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en",
  };
  try {
    const stored = JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Prefs>;
    return {
      zone: stored.zone === "local" ? "local" : fallback.zone,
      locale: stored.locale === "en" || stored.locale === "zh" ? stored.locale : fallback.locale,
    };
  } catch {
    return fallback;
  }
}

let current = initial();

export const prefs = (): Prefs => current;

export function setPrefs(patch: Partial<Prefs>): void {
  current = { ...current, ...patch };
  localStorage.setItem(KEY, JSON.stringify(current));
  for (const listener of listeners) listener();
}

export function usePrefs(): Prefs {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, prefs);
}
