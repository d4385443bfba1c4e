import { keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useRef } from "react";
import type { Comment, CommentAbout, Incident } from "../client/incidents";
import type { List, Named } from "../client/types";
import { get, patch, post } from "./api";
import { incidentKeys } from "./incidents";

const NEWEST = 200;

/** The comments of an incident; they are read again with every version of it that the stream tells of. */
export const useComments = (incident: Incident) =>
  useQuery({
    queryKey: [...incidentKeys.one(incident.id), "comments", incident.version],
    queryFn: () => get<List<Comment>>(`/incidents/${incident.id}/comments`, { limit: NEWEST }),
    placeholderData: keepPreviousData,
  });

/** Who can be named; asked for once somebody types an @. */
export const usePeople = (incident: string, enabled: boolean) =>
  useQuery({
    queryKey: [...incidentKeys.one(incident), "people"],
    queryFn: () => get<Named[]>(`/incidents/${incident}/people`),
    staleTime: 300_000,
    enabled,
  });

export interface CommentDraft {
  text: string;
  about: CommentAbout;
  ref: string;
}

/** Sent twice it stands there once: the key lives as long as the text that is sent. */
export function useAddComment(incident: Incident, after: () => void) {
  const once = useRef({ of: "", key: "" });
  return useChange(
    incident,
    (draft: CommentDraft) => {
      const of = JSON.stringify(draft);
      if (once.current.of !== of) once.current = { of, key: crypto.randomUUID() };
      return post<Comment>(`/incidents/${incident.id}/comments`, draft, once.current.key);
    },
    () => {
      once.current = { of: "", key: "" };
      after();
    },
  );
}

export const useMendComment = (incident: Incident, after: () => void) =>
  useChange(
    incident,
    ({ id, text }: { id: string; text: string }) =>
      patch<Comment>(`/incidents/${incident.id}/comments/${id}`, { text }),
    after,
  );

export const useWithdrawComment = (incident: Incident) =>
  useChange(incident, (id: string) => post<Comment>(`/incidents/${incident.id}/comments/${id}/withdraw`));

function useChange<In>(incident: Incident, send: (given: In) => Promise<Comment>, after?: () => void) {
  const cache = useQueryClient();
  return useMutation({
    mutationFn: send,
    onSuccess: async () => {
      await cache.invalidateQueries({ queryKey: incidentKeys.one(incident.id) });
      after?.();
    },
  });
}
