import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { Incident, PinKind } from "../client/incidents";
import { incidentKeys, isChanged } from "./incidents";
import { get, post } from "./queries";

/** A place that can be shown again, before it belongs to an incident. */
export interface PinDraft {
  kind: PinKind;
  ref: Record<string, unknown>;
  /** Path and query that open exactly this. */
  view: string;
}

interface Asked {
  incident: string;
  step: string;
  draft: PinDraft;
}

/**
 * Pins a place to an incident. What others changed there meanwhile does not touch a pin, so it goes on top of
 * whatever is newest.
 */
export function usePin() {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: async ({ incident, step, draft }: Asked) => {
      const write = async () => {
        const { version } = await get<Incident>(`/incidents/${incident}`);
        return post(`/incidents/${incident}/pins`, { ...draft, step: step || null, version });
      };
      return write().catch((error: unknown) => {
        if (isChanged(error)) return write();
        throw error;
      });
    },
    onSuccess: () => cache.invalidateQueries({ queryKey: incidentKeys.all }),
  });
}
