import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import type { Incident, Person } from "../client/incidents";
import { incidentKeys, useIncident } from "./incidents";

const POLL_MS = 3000;

/**
 * An incident as it changes under several hands. News comes as server-sent events; where those are refused or the
 * browser has none, it is asked for every three seconds.
 */
export function useIncidentStream(id: string) {
  const cache = useQueryClient();
  const [broken, setBroken] = useState(typeof EventSource === "undefined");
  const query = useIncident(id, broken ? POLL_MS : false);
  const known = query.data !== undefined;
  useEffect(() => {
    if (!known || broken) return;
    const source = new EventSource(`/api/v1/incidents/${id}/events`);
    const refresh = () => void cache.invalidateQueries({ queryKey: incidentKeys.one(id) });
    source.addEventListener("version", (event) => {
      const news = parse<{ version: number }>(event);
      const here = cache.getQueryData<Incident>(incidentKeys.one(id));
      if (news && here && news.version > here.version) refresh();
    });
    source.addEventListener("runs", refresh);
    source.addEventListener("presence", (event) => {
      const people = parse<{ people: Person[] }>(event)?.people;
      if (people)
        cache.setQueryData<Incident>(incidentKeys.one(id), (before) => (before ? { ...before, people } : before));
    });
    source.addEventListener("error", () => {
      // While it connects again by itself nothing is to be done; a refusal ends the stream for good.
      if (source.readyState === EventSource.CLOSED) setBroken(true);
    });
    return () => source.close();
  }, [id, known, broken, cache]);
  return { query, link: broken ? ("polling" as const) : ("live" as const), pollMs: broken ? POLL_MS : (false as const) };
}

function parse<T>(event: Event): T | undefined {
  try {
    return JSON.parse((event as MessageEvent<string>).data) as T;
  } catch {
    return undefined;
  }
}
