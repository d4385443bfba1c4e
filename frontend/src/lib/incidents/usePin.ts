import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { RequestBody } from "../../client/paths";
import { get, post } from "../queries";
import { incidentKeys, isVersionConflict } from "./incidents";

type TargetOf<Body> = Body extends { kind: infer Kind; ref: infer Ref } ? { kind: Kind; ref: Ref } : never;

/** Object of a pin: its kind, and a reference whose fields depend on the kind. */
export type PinTarget = TargetOf<RequestBody<"post", `/incidents/${string}/pins`>>;

/** Pin that is not in an incident yet. */
export type PinDraft = PinTarget & {
  /** Path and query that open the same view. */
  view: string;
};

interface PinRequest {
  incident: string;
  step: string;
  draft: PinDraft;
}

/**
 * Return a mutation that pins evidence to an incident. Changes of other users do not affect a pin, so it is written to
 * the newest version and retried once after a conflict.
 */
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
