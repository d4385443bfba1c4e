import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useRef } from "react";
import type { Comment, CommentAbout, Incident } from "../../client/models";
import { get, patch, post } from "../api";
import { incidentKeys } from "./incidents";

const NEWEST = 200;

/** Fetch the comments of an incident, again for each new version of the incident. */
export const useComments = (incident: Incident) =>
  useQuery({
    queryKey: [...incidentKeys.detail(incident.id), "comments", incident.version],
    queryFn: () => get(`/incidents/${incident.id}/comments`, { limit: NEWEST }),
    placeholderData: keepPreviousData,
  });

/** Fetch the users that a comment can mention. `enabled` is false until the user types an @. */
export const useMentionableUsers = (incident: string, enabled: boolean) =>
  useQuery({
    queryKey: [...incidentKeys.detail(incident), "people"],
    queryFn: () => get(`/incidents/${incident}/people`),
    staleTime: 300_000,
    enabled,
  });

export interface CommentDraft {
  text: string;
  about: CommentAbout;
  ref: string;
}

/** Return a mutation that adds a comment. Retries of the same draft use the same idempotency key. */
export function useAddComment(incident: Incident, after: () => void) {
  const once = useRef({ of: "", key: "" });
  return useChange(
    incident,
    (draft: CommentDraft) => {
      const of = JSON.stringify(draft);
      if (once.current.of !== of) once.current = { of, key: crypto.randomUUID() };
      return post(`/incidents/${incident.id}/comments`, draft, once.current.key);
    },
    () => {
      once.current = { of: "", key: "" };
      after();
    },
  );
}

export const useEditComment = (incident: Incident, after: () => void) =>
  useChange(
    incident,
    ({ id, text }: { id: string; text: string }) =>
      patch(`/incidents/${incident.id}/comments/${id}`, { text }),
    after,
  );

export const useWithdrawComment = (incident: Incident) =>
  useChange(incident, (id: string) => post(`/incidents/${incident.id}/comments/${id}/withdraw`));

function useChange<In>(incident: Incident, send: (request: In) => Promise<Comment>, after?: () => void) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: send,
    onSuccess: async () => {
      await cache.invalidateQueries({ queryKey: incidentKeys.detail(incident.id) });
      after?.();
    },
  });
}
