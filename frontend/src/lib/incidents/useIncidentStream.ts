import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import type { Incident } from "../client/incidents";
import type { Named } from "../client/types";
import { incidentKeys, useIncident } from "./incidents";
import { usePaused } from "./usePaused";

const POLL_MS = 3000;

/**
 * An incident as it changes under several hands. News comes as server-sent events; while those are paused, it is asked
 * for every three seconds.
 */
export function useIncidentStream(id: string) {
  const cache = useQueryClient();
  const [paused, pause] = usePaused();
  const query = useIncident(id, paused ? POLL_MS : false);
  const known = query.data !== undefined;
  useEffect(() => {
    if (!known || paused) return;
    const source = new EventSource(`/api/v1/incidents/${id}/events`);
    const refresh = () => void cache.invalidateQueries({ queryKey: incidentKeys.one(id) });
    source.addEventListener("version", (event) => {
      const news = parse<{ version: number }>(event);
      const here = cache.getQueryData<Incident>(incidentKeys.one(id));
      if (news && here && news.version > here.version) refresh();
    });
    source.addEventListener("runs", (event) => {
      const runs = parse<{ runs: { run_id: string; state: string }[] }>(event)?.runs;
      const known = cache.getQueryData<Incident>(incidentKeys.one(id))?.runs ?? [];
      if (runs?.some((one) => known.find((each) => each.run_id === one.run_id)?.state !== one.state))
        refresh();
    });
    source.addEventListener("presence", (event) => {
      const here = parse<{ people: Named[] }>(event)?.people;
      if (here)
        cache.setQueryData<Incident>(incidentKeys.one(id), (before) => before && withHere(before, here));
    });
    source.addEventListener("error", () => {
      // While it connects again by itself nothing is to be done; a refusal ends the stream for good.
      if (source.readyState === EventSource.CLOSED) pause();
    });
    return () => source.close();
  }, [id, known, paused, pause, cache]);
  return {
    query,
    link: paused ? ("paused" as const) : ("live" as const),
    pollMs: paused ? POLL_MS : (false as const),
  };
}

/** Who has it open now, among those who take part. */
export function withHere(incident: Incident, here: readonly Named[]): Incident {
  const known = incident.people.filter((one) => !here.some((each) => each.id === one.id));
  return {
    ...incident,
    people: [
      ...here.map((one) => ({ ...one, here: true })),
      ...known.map((one) => ({ ...one, here: false })),
    ],
  };
}

function parse<T>(event: Event): T | undefined {
  try {
    return JSON.parse((event as MessageEvent<string>).data) as T;
  } catch {
    return undefined;
  }
}
