import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { RequestBody } from "../../client/paths";
import { get, post } from "../queries";
import { incidentKeys, isVersionConflict } from "./incidents";

type TargetOf<Body> = Body extends { kind: infer Kind; ref: infer Ref } ? { kind: Kind; ref: Ref } : never;

/** What is pinned: each kind has its own reference. */
export type PinTarget = TargetOf<RequestBody<"post", `/incidents/${string}/pins`>>;

/** A place that can be shown again, before it belongs to an incident. */
export type PinDraft = PinTarget & {
  /** Path and query that open exactly this. */
  view: string;
};

interface PinRequest {
  incident: string;
  step: string;
  draft: PinDraft;
}

/** Pin evidence to an incident. Changes of other users do not affect a pin, so it applies to the newest version. */
export function usePin() {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: async ({ incident, step, draft }: PinRequest) => {
      const write = async () => {
        const { version } = await get(`/incidents/${incident}`);
        return post(`/incidents/${incident}/pins`, { ...draft, step: step || null, version });
      };
      return write().catch((error: unknown) => {
        if (isVersionConflict(error)) return write();
        throw error;
      });
    },
    onSuccess: () => cache.invalidateQueries({ queryKey: incidentKeys.all }),
  });
}
